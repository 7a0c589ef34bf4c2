import Foundation
import Synchronization
import Testing

/// What the kernel has queued for a daemon's input.
struct KernelQueue {
  private let place: String

  init(_ daemon: Daemon) {
    let (host, port) = (daemon.address.sin_addr.s_addr, UInt16(bigEndian: daemon.address.sin_port) + inputPort)
    place = String(format: "%08X:%04X", host, Int(port))
  }

  /// How many bytes wait, and how many datagrams found no room; nil without a socket.
  var state: (waiting: Int, drops: Int)? {
    let text = try? String(contentsOfFile: "/proc/net/udp", encoding: .utf8)
    for line in text?.split(separator: "\n") ?? [] {
      let fields = line.split(separator: " ")
      guard fields.count > 12, fields[1] == place, let drops = Int(fields[12]) else { continue }
      return fields[4].split(separator: ":").last.flatMap { Int($0, radix: 16) }.map { ($0, drops) }
    }
    return nil
  }
}

/// A thread that sends a count without a pause, except that the queue always has room.
final class Flood: Sendable {
  private let state = Mutex((isOver: false, sent: nil as Int?))

  init(of sender: Sender, into queue: KernelQueue) {
    Thread.detachNewThread { [self] in
      var sent = 0
      while !state.withLock({ $0.isOver }), queue.state != nil {
        for _ in 1...100 where sender.send("orders".utf8) { sent += 1 }
        while let queued = queue.state, queued.waiting > 0 {}
      }
      state.withLock { $0.sent = sent }
    }
  }

  /// Has it end.
  ///
  /// - Returns: How many it has sent.
  func end() throws -> Int {
    state.withLock { $0.isOver = true }
    try wait("for the sender") { state.withLock { $0.sent != nil } }
    return try #require(state.withLock { $0.sent })
  }
}
