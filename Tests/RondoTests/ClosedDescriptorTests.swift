import Glibc
import Rondo
import RondoTestSupport
import Testing

/// The loop's own descriptors, closed behind its back. Each test has a process of its own, which ends with a message.
@Suite struct ClosedDescriptorTests {
  @Test(.offThePool, arguments: ["[eventpoll]", "[timerfd]"], [true, false])
  func `a loop whose descriptor was closed, or stands for another file, says so when it runs`(
    _ kind: String, _ isReused: Bool
  ) async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) { [kind, isReused] in
      Closing.run(closing: kind, reused: isReused)
    }
    let complaint = result?.complaint ?? ""
    #expect(complaint.contains(kind == "[timerfd]" ? "the timerfd that wakes it in time" : "its epoll set"))
  }

  @Test(.offThePool, arguments: ["[eventfd]", "[eventpoll]"], [true, false])
  func `whoever wakes a loop whose descriptor was closed in its sleep is told so`(
    _ kind: String, _ isReused: Bool
  ) async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) { [kind, isReused] in
      Closing.wake(closing: kind, reused: isReused)
    }
    #expect(result?.complaint.contains("the eventfd that wakes it, or its epoll set") == true)
  }

  @Test(.offThePool) func `no byte is written into the file that has the eventfd's number now`() async {
    await #expect(processExitsWith: .success) { Closing.lookAtStranger() }
  }

  @Test(.offThePool) func `a program that closes the loop's descriptors, as daemons close all, is told what to do`()
    async
  {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      Closing.closeAll()
      Closing.runOn()
    }
    #expect(result?.complaint.contains("has to do so before its first Loop.current, Loop.main or LoopThread") == true)
  }

  @Test(.offThePool) func `a new loop that is given the numbers of another one's descriptors says so`() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      Closing.closeAll()
      // One of them is given the first loop's numbers.
      withExtendedLifetime((0..<80).map { _ in try? LoopThread() }) {}
    }
    let complaint = result?.complaint ?? ""
    #expect(complaint.contains("it was given to a new loop just now"))
  }
}

/// What the exit tests do.
private enum Closing {
  /// Everything open under the process's numbers.
  private static func targets() -> [CInt: String] {
    (CInt(0)..<256).reduce(into: [:]) { targets, number in
      var target = [UInt8](repeating: 0, count: 64)
      let length = unsafe target.withUnsafeMutableBytes {
        unsafe readlink("/proc/self/fd/\(number)", $0.baseAddress!.assumingMemoryBound(to: CChar.self), 64)
      }
      if length > 0 { targets[number] = String(decoding: target[..<length], as: UTF8.self) }
    }
  }

  /// What the kernel tells of a descriptor under a key, once or more often.
  private static func facts(_ key: String, of descriptor: CInt) -> [Substring] {
    let file = unsafe open("/proc/self/fdinfo/\(descriptor)", O_RDONLY)
    defer { Glibc.close(file) }
    var bytes = [UInt8](repeating: 0, count: 4096)
    let length = unsafe read(file, &bytes, bytes.count)
    return String(decoding: bytes[..<max(0, length)], as: UTF8.self).split(separator: "\n").compactMap { line in
      line.hasPrefix(key) ? line.dropFirst(key.count).split(whereSeparator: \.isWhitespace).first : nil
    }
  }

  /// The numbers that an epoll set watches.
  private static func watched(by epoll: CInt) -> [CInt] {
    facts("tfd:", of: epoll).compactMap { CInt($0) }
  }

  /// A loop's eventfd is always readable, and no other here is.
  private static func isRaised(_ descriptor: CInt) -> Bool {
    facts("eventfd-count:", of: descriptor).contains { UInt64($0, radix: 16) ?? 0 != 0 }
  }

  /// A loop with a source, and the numbers of its three descriptors: the test's own runtime makes some meanwhile.
  private static func loop() -> (Loop, [CInt: String]) {
    let others = targets()
    let loop = Loop.current
    loop.add(Loop.Source {})
    let made = targets().filter { others[$0.key] != $0.value }
    let sets = made.filter { entry in
      entry.value.hasSuffix("[eventpoll]") && watched(by: entry.key).contains(where: isRaised)
    }
    precondition(sets.count == 1, "\(made)")
    let numbers = [sets.keys.first!] + watched(by: sets.keys.first!)
    return (loop, made.filter { numbers.contains($0.key) })
  }

  private static func loop(_ kind: String) -> (Loop, CInt) {
    let (loop, numbers) = loop()
    return (loop, numbers.first { $0.value.hasSuffix(kind) }!.key)
  }

  /// Closes a descriptor; with `reused`, its number stands for a file of the name afterwards.
  private static func close(_ descriptor: CInt, reused: Bool, _ path: String?) {
    Glibc.close(descriptor)
    guard reused else { return }
    let (file, name) = path.map { (unsafe open($0, O_RDWR), $0) } ?? temporaryFile()
    if path == nil { _ = unsafe unlink(name) }
    if file != descriptor {
      dup2(file, descriptor)
      Glibc.close(file)
    }
  }

  private static func temporaryFile() -> (CInt, String) {
    var path = Array("/tmp/rondo-XXXXXX".utf8CString)
    let file = unsafe mkstemp(&path)
    return (file, String(decoding: path.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self))
  }

  static func run(closing kind: String, reused: Bool) {
    let (loop, descriptor) = loop(kind)
    close(descriptor, reused: reused, nil)
    loop.run(for: .seconds(60))
  }

  static func wake(closing kind: String, reused: Bool, _ path: String? = nil) {
    let (loop, descriptor) = loop(kind)
    let poster = TestThread {
      while !loop.isWaiting { sched_yield() }
      close(descriptor, reused: reused, path)
      // One of them finds the loop asleep. A loop that a spurious wakeup has woken needs no system call.
      for _ in 0..<1_000 {
        while !loop.isWaiting { sched_yield() }
        loop.wakeUp()
      }
      loop.requestStop()
    }
    loop.run()
    poster.join()
  }

  static func lookAtStranger() {
    let (file, name) = temporaryFile()
    defer { unsafe unlink(name) }
    let child = forkProcess()
    if child == 0 {
      wake(closing: "[eventfd]", reused: true, name)
      _exit(0)
    }
    guard case .signal = end(of: child) else { preconditionFailure("The child got away with it.") }
    precondition(lseek(file, 0, SEEK_END) == 0)
  }

  /// All of the loop's. Not those of the process: the runtime of Dispatch may just be starting, and dies without a word.
  static func closeAll() {
    for descriptor in loop().1.keys { Glibc.close(descriptor) }
  }

  static func runOn() { Loop.current.run(for: .seconds(60)) }
}
