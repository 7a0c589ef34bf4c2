import Foundation
import Rondo
import RondoAsync
import RondoSockets
import Synchronization
import Testing

/// Clients of a daemon that come back at once, as tasks of one loop.
final class Crowd: Sendable {
  private let thread: LoopThread
  private let state: Mutex<State>

  private struct State {
    /// How many clients have not left.
    var left: Int
    var isOver = false
    var answers = 0
    /// What is waited for, in an answer.
    var mark = ""
    var isMarkSeen = false
    var faults: [String] = []
  }

  /// What a client has met.
  struct Fault: Error { let text: String }

  /// - Parameter visit: What a client does, again and again. One that meets an error leaves.
  init(_ count: Int, _ visit: @escaping @Sendable (Crowd, Loop) async throws -> Void) throws {
    thread = try LoopThread(name: "crowd")
    state = Mutex(State(left: count))
    for _ in 0..<count {
      Task(executorPreference: thread.loop) { [self, loop = thread.loop] in
        do {
          while !isOver { try await visit(self, loop) }
        } catch {
          state.withLock { $0.faults.append("\(error)") }
        }
        state.withLock { $0.left -= 1 }
      }
    }
  }

  /// Whether the clients are to leave.
  var isOver: Bool { state.withLock { $0.isOver } }

  /// A whole answer has come.
  func note(_ answer: String) {
    state.withLock { state in
      state.answers += 1
      if !state.isMarkSeen, answer.contains(state.mark) { state.isMarkSeen = true }
    }
  }

  /// Waits until an answer contains a text.
  func wait(toSee mark: String) throws {
    state.withLock { ($0.mark, $0.isMarkSeen) = (mark, false) }
    try RondoStatusTests.wait("for an answer with \(mark)") {
      state.withLock { $0.isMarkSeen || !$0.faults.isEmpty }
    }
  }

  /// Has them leave.
  ///
  /// - Returns: How many answers they got, and what was wrong.
  func end() throws -> (answers: Int, faults: [String]) {
    state.withLock { $0.isOver = true }
    try RondoStatusTests.wait("for the clients to leave") { state.withLock { $0.left == 0 } }
    thread.stop()
    return state.withLock { ($0.answers, $0.faults) }
  }
}

extension Crowd {
  /// Asks for the page on a connection of its own.
  func askForPage(of address: SocketAddress, on loop: Loop) async throws {
    let connection = try await Connection.connected(to: address, on: loop)
    defer { connection.close() }
    // The daemon may accept it, and drain, before the request comes.
    await Task.yield()
    try await connection.write(get("/", "Connection: close\r\n"))
    var bytes: [UInt8] = []
    while let piece = try await connection.read() { bytes += piece }
    guard let (answer, rest) = Answer.first(in: bytes[...]), answer.status == 200, rest.isEmpty else {
      throw Fault(text: "no answer: \(String(decoding: bytes, as: UTF8.self))")
    }
    note(answer.body)
  }

  /// Asks the console for the counts until it ends the connection.
  func talk(to address: SocketAddress, on loop: Loop) async throws {
    let connection = try await Connection.connected(to: address, on: loop)
    defer { connection.close() }
    while !isOver {
      var text = ""
      do throws(ConnectionError) {
        try await connection.write("counts\n")
        while !text.hasSuffix("names\n"), let piece = try await connection.read() {
          text += String(decoding: piece, as: UTF8.self)
        }
      } catch {
        // It came when the daemon did not read any longer.
        guard error == .socket(.reset) else { throw error }
      }
      if text.isEmpty { return }
      if !text.hasSuffix("names\n") { throw Fault(text: "a part of an answer: \(text)") }
      note(text)
    }
  }
}

extension Daemon {
  /// Its address, or one of a port so much higher.
  func place(at distance: UInt16 = 0) throws -> SocketAddress {
    let parts = name.split(separator: ":")
    return try SocketAddress(parsing: "\(parts[0]):\(#require(UInt16(parts[1])) + distance)")
  }
}
