import CBench
import Dispatch

#if NIO
  import NIOCore
  import NIOPosix
#endif

/// SwiftNIO: the event loop of a thread that NIO takes over. Its selector is its own, so it watches no descriptors here.
struct NIOSubject: Subject {
  let name = "nio"
  let summary = "SwiftNIO: MultiThreadedEventLoopGroup.withCurrentThreadAsEventLoop, execute, scheduleTask"

  #if NIO
    func openLoop(posts: Bool) throws(Refusal) -> any BenchLoop {
      try NIOThread.open()
    }

    func runTimer(hitting meter: TickMeter) throws(Refusal) {
      MultiThreadedEventLoopGroup.withCurrentThreadAsEventLoop { loop in
        NIOTicker(loop, meter).arm()
      }
    }
    func openActors() throws(Refusal) -> ActorHost {
      ActorHost(guests: [NIOActor.shared, NIOActor.other], neighbour: NIOActor.neighbour) { count, parking in
        for _ in 0..<count { Task { @NIOActor in await parking.park() } }
      }
    }
  #else
    let absence: String? = "built without the trait NIO; make bench-full has it"
  #endif
}

#if NIO
  /// Two event loops with a thread each; the first is the global actor's.
  @globalActor
  private enum NIOActor {
    static let group = MultiThreadedEventLoopGroup(numberOfThreads: 2)
    private static let executor = group.next().executor
    static let shared = HostedGuest(executor)
    static let neighbour = HostedGuest(executor)
    static let other = HostedGuest(group.next().executor)
  }

  /// Re-arms itself for every point of the grid: NIO's repeating tasks count from when the last one ended.
  private final class NIOTicker: Sendable {
    private let loop: any EventLoop
    private let meter: TickMeter

    init(_ loop: any EventLoop, _ meter: TickMeter) {
      (self.loop, self.meter) = (loop, meter)
    }

    func arm() {
      let due = bench_ticks_due(meter.pointer, meter.pointer.pointee.next)
      loop.scheduleTask(deadline: .uptimeNanoseconds(UInt64(due))) { [self] in
        if bench_ticks_hit(meter.pointer) {
          loop.shutdownGracefully { _ in }
        } else {
          arm()
        }
      }
    }
  }

  /// An event loop on a thread that it takes over for good: the harness's own threads come and go with their loops, so
  /// this one sleeps on another thread, pinned like the harness's thread that opened it.
  ///
  /// Sendable because an event loop may be used from any thread.
  private final class NIOThread: BenchLoop, @unchecked Sendable {
    private let group: MultiThreadedEventLoopGroup
    private let loop: any EventLoop
    private let stopped = DispatchSemaphore(value: 0)

    /// A thread inherits the processors of the one that makes it.
    static func open() throws(Refusal) -> any BenchLoop {
      NIOThread(MultiThreadedEventLoopGroup(numberOfThreads: 1))
    }

    private init(_ group: MultiThreadedEventLoopGroup) {
      self.group = group
      loop = group.next()
    }

    var hasSources: Bool { false }
    var sleepsOnItsThread: Bool { false }
    var pollRefusal: Refusal? { .cannot("has no turns to ask for") }
    var hasTolerance: Bool { false }

    func run() { stopped.wait() }
    func stop() { stopped.signal() }
    func close() { try? group.syncShutdownGracefully() }

    func addWake(_ call: Call) throws(Refusal) -> any Wake {
      NIOWake(loop, call)
    }

    func addSignal(_ call: Call) throws(Refusal) -> any Member {
      throw .cannot("has no signalled sources: a block that posts itself is post.same")
    }

    func addWatch(_ descriptor: CInt, _ call: Call) throws(Refusal) -> any Member {
      throw .cannot("watches no descriptors but its channels' own")
    }

    func post(_ count: Int, _ work: Work) {
      for _ in 0..<count { loop.execute { work() } }
    }

    func addShots(_ dues: [Int64], _ call: Call) throws(Refusal) -> any ShotBank {
      NIOTimers(
        tasks: dues.map { due in
          loop.scheduleTask(deadline: .uptimeNanoseconds(UInt64(due))) { call() }
        })
    }

    func addRepeats(
      _ dues: [Int64], every interval: Int64, tolerance: Int64, _ call: Call
    ) throws(Refusal) -> any Member {
      guard tolerance == 0 else { throw .cannot("its timers have no tolerance") }
      let repeats = NIORepeats(loop, call, interval)
      for due in dues { repeats.arm(due) }
      return repeats
    }
  }

  private final class NIOWake: Wake {
    private let loop: any EventLoop
    private let call: Call

    init(_ loop: any EventLoop, _ call: Call) {
      (self.loop, self.call) = (loop, call)
    }

    func send() { loop.execute { [call] in call() } }
    func remove() {}
  }

  private struct NIOTimers: ShotBank {
    let tasks: [Scheduled<Void>]

    func cancel(_ order: [Int]) {
      for index in order { tasks[index].cancel() }
    }

    func free() {}
  }

  /// Timers that arm themselves again on a grid, until the loop shuts down.
  private final class NIORepeats: Member, Sendable {
    private let loop: any EventLoop
    private let call: Call
    private let interval: Int64

    init(_ loop: any EventLoop, _ call: Call, _ interval: Int64) {
      (self.loop, self.call, self.interval) = (loop, call, interval)
    }

    func arm(_ due: Int64) {
      loop.scheduleTask(deadline: .uptimeNanoseconds(UInt64(due))) { [self] in
        call()
        arm(due + interval)
      }
    }

    func remove() {}
  }
#endif
