#if TLS
  internal import Rondo
  public import RondoSockets

  extension Connection {
    /// Makes the server's side of a TLS connection of this one, and shakes hands. Any thread.
    ///
    /// The new connection has the same socket, limits of time and loop. It reads and writes in this one's place: later
    /// calls of this one throw `.closed`, and if you close this one, the new one closes. If this one has received bytes
    /// that you have not read, they belong to the handshake. So no plain text passes for secured data.
    ///
    /// ```swift
    /// try await listener.serve(on: loop) { connection in
    ///   let connection = try await connection.secured(by: context)
    ///   for try await bytes in connection { try await connection.write(bytes) }
    /// }
    /// ```
    ///
    /// If the handshake fails, the connection is closed. The peer gets an alert with the reason if one fits.
    ///
    /// - Parameter timeout: The longest time for the handshake; nil for no limit but the connection's own.
    /// - Throws: `.tls` with `.refused`, `.violation` or `.truncated`; `.wait(.timedOut)`, never early;
    ///   `.wait(.cancelled)`; `.wait(.alreadyAwaited)` if another task reads or writes; `.socket`, `.closed`.
    public nonisolated(nonsending) func secured(
      by context: TLSServerContext, timeout: Duration? = .seconds(10)
    ) async throws(ConnectionError) -> Connection {
      try await secured(as: nil, by: context.handle, timeout)
    }

    /// Makes the client's side of a TLS connection of this one, and shakes hands. Any thread.
    ///
    /// Else as `secured(by:timeout:)`, the server's side.
    ///
    /// - Parameters:
    ///   - host: The name or address that the server's certificate must match. A name is sent to the server (SNI). It
    ///     is in ASCII, with `xn--…` for international labels.
    ///   - timeout: The longest time for the handshake; nil for no limit but the connection's own.
    /// - Throws: `.tls` with `.certificate`, `.refused`, `.violation` or `.truncated`; `.tls(.host)`, and the
    ///   connection is as it was. Else as `secured(by:timeout:)`.
    public nonisolated(nonsending) func secured(
      as host: String, by context: TLSClientContext, timeout: Duration? = .seconds(10)
    ) async throws(ConnectionError) -> Connection {
      if !isHost(host) { throw .tls(.host(host)) }
      return try await secured(as: host, by: context.handle, timeout)
    }

    private nonisolated(nonsending) func secured(
      as host: String?, by context: TLSContextHandle, _ timeout: Duration?
    ) async throws(ConnectionError) -> Connection {
      var stream: TLSStream!
      let connection = try covered { carrier, received throws(ConnectionError) in
        stream = try TLSStream(over: carrier, received: received, as: host, by: context)
        return stream
      }
      let limit = timeout.map { loop.now.advanced(by: $0.saturatingNanoseconds).suspending }
      let former = deadline
      if let limit, former.map({ limit < $0 }) ?? true { deadline = limit }
      do throws(ConnectionError) {
        try await stream.shakeHands(on: connection)
      } catch {
        close()
        throw error
      }
      // Unless the program has set another one.
      if deadline == limit { deadline = former }
      return connection
    }

    /// The protocol that ALPN chose; nil without one, and without TLS. Any thread.
    public var applicationProtocol: String? { stream?.applicationProtocol }

    /// The TLS version, as `TLSv1.3`; nil without TLS. Any thread.
    public var tlsVersion: String? { stream?.version }

    private var stream: TLSStream? { (transport as? LayeredTransport)?.layer as? TLSStream }
  }
#endif
