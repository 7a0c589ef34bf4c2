#if NIO
  import CHosts
  import Dispatch
  import Glibc
  import NIOCore
  import NIOPosix
  import Synchronization

  /// SwiftNIO as the host: it watches its channels' descriptors and no others, so a thread waits for the guest's and has
  /// the event loop serve it.
  let hostNIO: Host = { descriptor, turn, tick, context in
    let guest = NIOGuest(descriptor: descriptor, turn: turn!, tick: tick!, context: context)
    MultiThreadedEventLoopGroup.withCurrentThreadAsEventLoop { loop in
      loop.scheduleRepeatedTask(initialDelay: .milliseconds(10), delay: .milliseconds(10)) { task in
        if guest.tick(guest.context) != 0 { task.cancel() }
      }
      startThread { guest.wait(for: loop) }
    }
    return 0
  }

  private final class NIOGuest: @unchecked Sendable {
    // Unchecked: the pointers are for the event loop's thread alone.

    let descriptor: CInt
    let turn: host_turn
    let tick: host_turn
    let context: UnsafeMutableRawPointer?
    private let served = DispatchSemaphore(value: 0)
    private let isOver = Atomic(false)

    init(descriptor: CInt, turn: host_turn, tick: host_turn, context: UnsafeMutableRawPointer?) {
      (self.descriptor, self.turn, self.tick, self.context) = (descriptor, turn, tick, context)
    }

    /// Has the event loop serve the guest whenever it has something to do. On a thread of its own.
    func wait(for loop: any EventLoop) {
      while !isOver.load(ordering: .acquiring) {
        var query = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        guard poll(&query, 1, -1) == 1 else { continue }
        loop.execute { [self] in
          if turn(context) != 0 {
            isOver.store(true, ordering: .releasing)
            loop.shutdownGracefully { _ in }
          }
          served.signal()
        }
        served.wait()
      }
    }
  }

  private func startThread(_ body: @escaping @Sendable () -> Void) {
    let start = Unmanaged.passRetained(Start(body))
    var thread = pthread_t()
    let error = pthread_create(
      &thread, nil,
      { argument in
        Unmanaged<Start>.fromOpaque(argument!).takeRetainedValue().body()
        return nil
      }, start.toOpaque())
    precondition(error == 0, "No thread could be made: errno \(error).")
    pthread_detach(thread)
  }

  private final class Start {
    let body: @Sendable () -> Void
    init(_ body: @escaping @Sendable () -> Void) { self.body = body }
  }
#endif
