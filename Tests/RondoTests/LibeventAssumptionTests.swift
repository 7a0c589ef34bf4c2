import CLibevent
import CLinux
import Glibc
import Testing

/// What the wait layer leans on in libevent, by the numbers of `assumptions.h`: asked of libevent itself.
@Suite struct LibeventAssumptionTests {
  private struct Failure: Error {
    var errno: CInt
  }

  /// A base, and events that count how often and for what they are called.
  @safe private final class Subject {
    let base: OpaquePointer
    private(set) var events: [UnsafeMutablePointer<event>] = unsafe []
    /// What each call was for.
    var calls: [Int16] = []

    init(isForeign: Bool = false) throws {
      var lowest: CInt = -1
      guard let made = unsafe rondo_base_new(&lowest, isForeign ? 1 : 0) else { throw Failure(errno: errno) }
      unsafe base = made
    }

    deinit {
      for index in unsafe events.indices { unsafe event_free(events[index]) }
      unsafe event_base_free(base)
    }

    /// Adds an event. What event_add(3) returned, and what it left in errno.
    @discardableResult
    func add(_ descriptor: CInt, _ flags: CInt) -> (result: CInt, errno: CInt) {
      let event = unsafe event_new(
        base, descriptor, Int16(flags | EV_PERSIST),
        { _, what, context in
          unsafe Unmanaged<Subject>.fromOpaque(context!).takeUnretainedValue().calls.append(what)
        }, Unmanaged.passUnretained(self).toOpaque())!
      unsafe events.append(event)
      errno = 0
      let result = unsafe event_add(event, nil)
      return (result, errno)
    }

    /// Takes the first event back. What event_del(3) left in errno.
    func deleteFirst() -> CInt {
      errno = 0
      unsafe event_del(events[0])
      return errno
    }

    /// Asks the kernel once, without waiting. How many events were called.
    func poll() -> Int {
      let before = calls.count
      unsafe event_base_loop(base, EVLOOP_ONCE | EVLOOP_NONBLOCK)
      return calls.count - before
    }
  }

  /// The line of an epoll set of this process for a descriptor that no other set watches: the set, the events, the data.
  private func registration(of descriptor: CInt) -> (epoll: CInt, events: UInt32, data: UInt64)? {
    for epoll in 0..<CInt(20_000) {
      guard let file = unsafe fopen("/proc/self/fdinfo/\(epoll)", "r") else { continue }
      defer { unsafe fclose(file) }
      var line = [CChar](repeating: 0, count: 256)
      while unsafe fgets(&line, 256, file) != nil {
        let text = String(decoding: line.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
        let words = text.split { $0 == " " || $0 == ":" || $0 == "\n" || $0 == "\t" }
        guard words.count >= 6, words[0] == "tfd", words[1] == "\(descriptor)" else { continue }
        return (epoll, UInt32(words[3], radix: 16)!, UInt64(words[5], radix: 16)!)
      }
    }
    return nil
  }

  /// Another number of the descriptor's file, one that no other thread is given when it is closed.
  private func highNumber(for descriptor: CInt) -> CInt {
    let number = fcntl(descriptor, F_DUPFD_CLOEXEC, 1_000)
    precondition(number >= 0, "No descriptor from 1,000 on is free.")
    return number
  }

  private func withSockets(_ body: (_ ours: CInt, _ theirs: CInt) throws -> Void) rethrows {
    var pair: [CInt] = [-1, -1]
    _ = unsafe socketpair(AF_UNIX, CInt(SOCK_STREAM.rawValue), 0, &pair)
    defer { for descriptor in pair { close(descriptor) } }
    try body(pair[0], pair[1])
  }

  @Test(arguments: [EV_READ, EV_WRITE | EV_ET, EV_READ | EV_WRITE, EV_READ | EV_CLOSED | EV_ET])
  func `1 - a registration has the descriptor as its data, and the events that were asked for`(_ flags: CInt) throws {
    try withSockets { ours, _ in
      let subject = try Subject()
      #expect(subject.add(ours, flags) == (0, 0))
      let found = try #require(registration(of: ours))
      let expected = unsafe rondo_registration(UInt16(flags), ours)
      // The kernel always tells of these two.
      let events = unsafe expected.events | EPOLLERR.rawValue | EPOLLHUP.rawValue
      #expect(found.events == events)
      #expect(CInt(truncatingIfNeeded: found.data) == ours)
    }
  }

  @Test func `2 - an event that is added under the number of another file takes that file, and leaves ENOENT`() throws {
    try withSockets { ours, _ in
      try withSockets { other, _ in
        let subject = try Subject()
        #expect(subject.add(ours, EV_READ) == (0, 0))
        dup2(other, ours)
        let added = subject.add(ours, EV_WRITE)
        #expect(added == (0, ENOENT))
        #expect(registration(of: ours) != nil)
        #expect(subject.poll() == 1)
      }
    }
  }

  @Test func `2 - an event that is deleted leaves ENOENT for another file, EBADF for none, and nothing if all is well`()
    throws
  {
    try withSockets { ours, _ in
      let well = try Subject()
      well.add(ours, EV_READ)
      #expect(well.deleteFirst() == 0)
      let replaced = try Subject()
      replaced.add(ours, EV_READ)
      withSockets { other, _ in _ = dup2(other, ours) }
      #expect(replaced.deleteFirst() == ENOENT)
    }
    try withSockets { ours, _ in
      let number = highNumber(for: ours)
      let closed = try Subject()
      closed.add(number, EV_READ)
      close(number)
      #expect(closed.deleteFirst() == EBADF)
    }
  }

  @Test func `3 - a second event of a descriptor asks the kernel for what it adds, and for nothing if it adds nothing`()
    throws
  {
    var number: CInt = -1
    try withSockets { ours, _ in
      number = highNumber(for: ours)
      let subject = try Subject()
      #expect(subject.add(number, EV_READ) == (0, 0))
      #expect(subject.add(number, EV_READ | EV_WRITE) == (0, 0))
      let events = try #require(registration(of: number)).events
      #expect(events & (EPOLLIN.rawValue | EPOLLOUT.rawValue) == EPOLLIN.rawValue | EPOLLOUT.rawValue)
      close(number)
      // A call would leave EBADF.
      #expect(subject.add(number, EV_READ) == (0, 0))
      // libevent says on stderr what it cannot take back.
      dup2(ours, number)
    }
    close(number)
  }

  @Test func `4 - a hang-up of both sides is told as readable, and not as closed`() throws {
    var pipe: [CInt] = [-1, -1]
    _ = unsafe Glibc.pipe(&pipe)
    let subject = try Subject()
    subject.add(pipe[0], EV_READ | EV_CLOSED | EV_ET)
    close(pipe[1])
    #expect(subject.poll() == 1)
    #expect(subject.calls.map { CInt($0) & (EV_READ | EV_CLOSED) } == [EV_READ])
    close(pipe[0])
  }

  @Test func `5 - a base takes 32 events at first, and twice as many after a full lot, up to 4,096`() throws {
    let subject = try Subject()
    let descriptors = (0..<300).map { _ in rondo_readable_eventfd() }
    for descriptor in descriptors { subject.add(descriptor, EV_READ) }
    let lots = [subject.poll(), subject.poll(), subject.poll(), subject.poll(), subject.poll()]
    #expect(lots == [32, 64, 128, 256, 300])
    #expect(lots[0] == Int(rondo_least_batch))
    for descriptor in descriptors { close(descriptor) }
  }

  @Test func `6 - libevent has the function that closes its pair for signals, and frees a base without the pair`()
    throws
  {
    #expect(rondo_knows_signal_pair() != 0)
    for _ in 0..<3 { _ = try Subject() }
  }

  @Test func `7 - a base with precise timers has its epoll set become readable when its next timeout is due`() throws {
    let ring = rondo_readable_eventfd()
    let subject = try Subject(isForeign: true)
    let foreign = unsafe rondo_foreign_new(subject.base, ring)!
    let timeout = unsafe event_new(subject.base, -1, 0, { _, _, _ in }, nil)!
    var delay = timeval(tv_sec: 0, tv_usec: 30_000)
    unsafe event_add(timeout, &delay)
    let start = ContinuousClock.now
    #expect(unsafe rondo_foreign_arm(foreign) == 0)
    var epoll = try pollfd(fd: #require(registration(of: ring)).epoll, events: Int16(POLLIN), revents: 0)
    #expect(unsafe poll(&epoll, 1, 60_000) == 1)
    #expect(ContinuousClock.now - start >= .milliseconds(29))
    unsafe event_free(timeout)
    unsafe rondo_foreign_free(foreign)
    close(ring)
  }
}
