import Rondo
import RondoTesting
import Testing

/// What a loop asks of network cards. No card of this machine answers: the kernel's own copy of the request is read.
@Suite struct NetworkPollingTests {
  @Test func `every epoll set of a loop asks, also those of modes that are run later`() {
    onLoopThread { stage in
      let loop = stage.loop
      loop.add(Loop.Source {})
      loop.add(Loop.Source {}, to: "later")
      do throws(NetworkPollingError) {
        try loop.setNetworkPolling(NetworkPolling(.microseconds(50), budget: 16, prefersPolling: true))
      } catch {
        // A kernel before Linux 6.9.
        #expect(error == .notSupported && loop.polledMicroseconds.isEmpty)
        return
      }
      loop.run(in: "later", for: .zero)
      #expect(loop.polledMicroseconds == [50, 50])
      try! loop.setNetworkPolling(NetworkPolling(.seconds(2_000)))
      #expect(loop.polledMicroseconds == [2_000_000_000, 2_000_000_000])
      try! loop.setNetworkPolling(nil)
      #expect(loop.polledMicroseconds == [0, 0])
    }
  }

  @Test func `a loop in virtual time asks nothing`() throws {
    try withVirtualLoop { virtual in
      try virtual.loop.setNetworkPolling(NetworkPolling(.microseconds(50)))
      #expect(virtual.loop.polledMicroseconds.isEmpty)
    }
  }

  @Test func `a budget of no packets and a duration of nothing are programmer's errors`() async {
    await #expect(processExitsWith: .failure) { _ = NetworkPolling(.microseconds(1), budget: 0) }
    await #expect(processExitsWith: .failure) { _ = NetworkPolling(.zero) }
  }
}
