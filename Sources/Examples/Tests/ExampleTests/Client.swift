import Foundation
import Testing

// The tests of rondo-status have this file, too.

/// A client of a server, with a plain socket that blocks, for a limited time.
final class Client: Sendable {
  private let descriptor: CInt

  /// - Parameter distance: How far its port is from the daemon's first one.
  init(_ daemon: Daemon, at distance: UInt16 = 0) throws {
    // A daemon that another test starts at this moment shall not inherit it.
    descriptor = socket(AF_INET, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    try #require(descriptor >= 0)
    var limit = timeval(tv_sec: Int(Daemon.patience), tv_usec: 0)
    for option in [SO_RCVTIMEO, SO_SNDTIMEO] {
      unsafe setsockopt(descriptor, SOL_SOCKET, option, &limit, socklen_t(MemoryLayout<timeval>.size))
    }
    var address = daemon.address
    address.sin_port = (UInt16(bigEndian: address.sin_port) + distance).bigEndian
    let result = unsafe withUnsafePointer(to: &address) { pointer in
      unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { name in
        unsafe connect(descriptor, name, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    try #require(result == 0, "connect: errno \(errno)")
  }

  deinit { close(descriptor) }

  /// Has the socket leave with a reset instead of an end.
  func resetOnClose() {
    var atOnce = linger(l_onoff: 1, l_linger: 0)
    unsafe setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &atOnce, socklen_t(MemoryLayout<linger>.size))
  }

  /// Sends all of it, as far as the daemon takes it.
  func send(_ bytes: some Collection<UInt8>) throws {
    let bytes = Array(bytes)
    let sent = unsafe Glibc.send(descriptor, bytes, bytes.count, CInt(MSG_NOSIGNAL))
    try #require(sent == bytes.count)
  }

  /// The next bytes, fewer only at the end.
  func receive(_ count: Int) throws -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: count)
    let result = uninterrupted { unsafe recv(descriptor, &bytes, count, CInt(MSG_WAITALL)) }
    try #require(result >= 0, "recv: errno \(errno)")
    return Array(bytes.prefix(result))
  }

  /// Whether a word comes back.
  func isServed() throws -> Bool {
    let word = Array("hello".utf8)
    try send(word)
    return try receive(word.count) == word
  }

  /// Sends `text` again and again and reads nothing, until the server takes no more or `limit` is exceeded.
  ///
  /// - Returns: How many bytes were taken.
  func flood(with text: [UInt8], limit: Int) throws -> Int {
    var taken = 0
    while taken <= limit {
      let rest = Array(text[(taken % text.count)...])
      let result = unsafe Glibc.send(descriptor, rest, rest.count, CInt(MSG_NOSIGNAL | MSG_DONTWAIT))
      if result > 0 {
        taken += result
      } else {
        try #require(errno == EAGAIN)
        var query = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        if uninterrupted({ unsafe Int(poll(&query, 1, 300)) }) == 0 { break }
      }
    }
    return taken
  }

  /// Sends `text` again and again and reads without a pause until the server has gone.
  func press(with text: [UInt8] = [UInt8](repeating: 7, count: 65_536)) {
    var rest = text[...]
    var room = [UInt8](repeating: 0, count: 65_536)
    while true {
      let sent = unsafe rest.withUnsafeBytes {
        unsafe Glibc.send(descriptor, $0.baseAddress, $0.count, CInt(MSG_NOSIGNAL | MSG_DONTWAIT))
      }
      if sent < 0, errno != EAGAIN { return }
      rest = rest.dropFirst(max(0, sent))
      if rest.isEmpty { rest = text[...] }
      let received = unsafe recv(descriptor, &room, room.count, CInt(MSG_DONTWAIT))
      if received == 0 || received < 0 && errno != EAGAIN { return }
    }
  }

  /// Sends all of `bytes`, then ends its side, and reads at the same time, to the daemon's end.
  func exchange(_ bytes: [UInt8]) throws -> [UInt8] {
    var rest = bytes[...]
    var answer: [UInt8] = []
    var piece = [UInt8](repeating: 0, count: 65_536)
    while true {
      var query = pollfd(fd: descriptor, events: Int16(rest.isEmpty ? POLLIN : POLLIN | POLLOUT), revents: 0)
      try #require(uninterrupted { unsafe Int(poll(&query, 1, CInt(Daemon.patience * 1000))) } == 1)
      if query.revents & Int16(POLLIN) != 0 {
        let result = unsafe recv(descriptor, &piece, piece.count, 0)
        try #require(result >= 0, "recv: errno \(errno)")
        if result == 0 { return answer }
        answer += piece.prefix(result)
      }
      if query.revents & Int16(POLLOUT) != 0 {
        let result = unsafe rest.withUnsafeBytes {
          unsafe Glibc.send(descriptor, $0.baseAddress, $0.count, CInt(MSG_NOSIGNAL | MSG_DONTWAIT))
        }
        try #require(result > 0, "send: errno \(errno)")
        rest = rest.dropFirst(result)
        if rest.isEmpty { shutdown(descriptor, CInt(SHUT_WR)) }
      }
    }
  }
}

/// What `call` returns when no signal comes in between: a process that is stopped and goes on has seen one.
private func uninterrupted(_ call: () -> Int) -> Int {
  while true {
    let result = call()
    if result >= 0 || errno != EINTR { return result }
  }
}

/// What the kernel holds of a connection at most, on both sides and in both directions.
func kernelRoom() throws -> Int {
  try ["tcp_rmem", "tcp_wmem"].reduce(0) { sum, name in
    let text = try String(contentsOfFile: "/proc/sys/net/ipv4/\(name)", encoding: .utf8)
    return sum + 2 * (try #require(text.split(whereSeparator: \.isWhitespace).last.flatMap { Int($0) }))
  }
}
