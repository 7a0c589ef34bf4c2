public import Rondo

extension Connection {
  /// Connects to a host by its name, by the first attempt that succeeds. Any thread.
  ///
  /// The name is looked up once. Its addresses are tried in the resolver's order, IPv6 and IPv4 in turn. The next attempt
  /// begins when the last one has failed, or after `attemptDelay`. The first connection is kept, and the other attempts
  /// end. See RFC 8305.
  ///
  /// ```swift
  /// let connection = try await Connection.connected(to: "localhost", port: port, on: loop, timeout: .seconds(10))
  /// ```
  ///
  /// - Parameters:
  ///   - host: A name, or an IPv4 or IPv6 address as text.
  ///   - loop: Watches the sockets, and runs the attempts.
  ///   - options: Set on each socket before it connects.
  ///   - resolver: Looks up the name.
  ///   - attemptDelay: The time that an attempt has before the next one begins beside it. Not negative.
  ///   - timeout: The longest time, the lookup included; nil for the limits of resolver and kernel.
  /// - Throws: `.lookup(.notFound)` and other errors of the lookup; the last attempt's error, such as
  ///   `.socket(.refused)`; `.wait(.timedOut)`, `.wait(.cancelled)`, `.wait(.loopEnded)`.
  public nonisolated(nonsending) static func connected(
    to host: String, port: UInt16, on loop: Loop, options: [Socket.Option] = [], resolver: Resolver = .shared,
    attemptDelay: Duration = .milliseconds(250), timeout: Duration? = nil, in mode: Loop.Mode = .common
  ) async throws(ConnectionError) -> Connection {
    require(attemptDelay >= .zero, "An attempt to connect cannot have a negative delay of \(attemptDelay).")
    let deadline = loop.deadline(after: timeout)
    let found: [SocketAddress]
    do {
      found = try await resolver.addresses(of: host, port: port, timeout: timeout ?? Resolver.usualTimeout, on: loop)
    } catch {
      throw ConnectionError(error)
    }
    let addresses = found.withFamiliesInTurn
    let outcome = await withTaskGroup(of: Outcome.self) { group -> Result<Connection, ConnectionError> in
      var begun = 0
      func begin() {
        let number = begun
        begun += 1
        group.addTask(executorPreference: loop) {
          await Outcome(number) { () throws(ConnectionError) in
            try await connected(
              to: addresses[number], on: loop, options: options, timeout: loop.timeLeft(until: deadline), in: mode)
          }
        }
        guard begun < addresses.count else { return }
        group.addTask(executorPreference: loop) {
          try? await loop.pause(for: attemptDelay)
          return .isLate(number)
        }
      }
      // What is left in the group ends with it. A connection of another attempt closes there.
      defer { group.cancelAll() }
      var failed = 0
      begin()
      for await attempt in group {
        switch attempt {
        case .connected(let connection): return .success(connection)
        // It is no address's fault, and the others' attempts would end so, too.
        case .failed(_, .wait(let error)): return .failure(.wait(error))
        case .failed(let number, let error):
          failed += 1
          if failed == addresses.count { return .failure(error) }
          if number == begun - 1, begun < addresses.count { begin() }
        case .isLate(let number): if number == begun - 1, !Task.isCancelled { begin() }
        }
      }
      return .failure(.wait(.cancelled))
    }
    return try outcome.get()
  }
}

/// What became of an attempt to connect.
private enum Outcome: Sendable {
  case connected(Connection)
  case failed(Int, ConnectionError)
  /// It is time for the next one.
  case isLate(Int)

  init(_ number: Int, _ connect: () async throws(ConnectionError) -> Connection) async {
    do throws(ConnectionError) { self = .connected(try await connect()) } catch { self = .failed(number, error) }
  }
}

extension ConnectionError {
  /// An error of a lookup, in the words of a connection.
  fileprivate init(_ error: LookupError) {
    switch error {
    case .timedOut: self = .wait(.timedOut)
    case .cancelled: self = .wait(.cancelled)
    case .loopEnded: self = .wait(.loopEnded)
    default: self = .lookup(error)
    }
  }
}

extension [SocketAddress] {
  /// The same, with the families in turn, as long as there are addresses of both. RFC 8305, section 4.
  var withFamiliesInTurn: [SocketAddress] {
    guard let first else { return [] }
    let near = filter { $0.family == first.family }
    let far = filter { $0.family != first.family }
    return (0..<Swift.max(near.count, far.count)).flatMap { place in
      [near, far].compactMap { $0.indices.contains(place) ? $0[place] : nil }
    }
  }
}
