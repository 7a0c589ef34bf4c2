#if TLS
  internal import NIOCore
  internal import NIOSSL
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
    /// - Throws: `.tls` with `.certificate`, `.refused`, `.violation` or `.truncated`; `.wait(.timedOut)`, never early;
    ///   `.wait(.cancelled)`; `.wait(.alreadyAwaited)` if another task reads or writes; `.socket`, `.closed`.
    public nonisolated(nonsending) func secured(
      by context: TLSServerContext, timeout: Duration? = .seconds(10)
    ) async throws(ConnectionError) -> Connection {
      try await secured(timeout) {
        TLSStream(over: $0, $1, on: loop, NIOSSLServerHandler(context: context.context), known: context.protocols)
      }
    }

    /// Makes the client's side of a TLS connection of this one, and shakes hands. Any thread.
    ///
    /// Else as `secured(by:timeout:)`, the server's side.
    ///
    /// - Parameters:
    ///   - host: The name or address that the server's certificate must match. A name is sent to the server (SNI). It
    ///     is in ASCII, with `xn--…` for international labels.
    ///   - timeout: The longest time for the handshake; nil for no limit but the connection's own.
    /// - Throws: `.tls(.host)`, and the connection is as it was. Else as `secured(by:timeout:)`.
    public nonisolated(nonsending) func secured(
      as host: String, by context: TLSClientContext, timeout: Duration? = .seconds(10)
    ) async throws(ConnectionError) -> Connection {
      guard let peer = NIOCore.SocketAddress(of: host),
        let handler = try? NIOSSLClientHandler(
          context: context.context, serverHostname: peer.protocol == .unix ? host : nil)
      else { throw .tls(.host(host)) }
      return try await secured(timeout) { TLSStream(over: $0, $1, on: loop, handler, as: host, at: peer) }
    }

    private nonisolated(nonsending) func secured(
      _ timeout: Duration?, _ make: (Transport, Inbox) -> TLSStream
    ) async throws(ConnectionError) -> Connection {
      var stream: TLSStream!
      let connection = try covered { carrier, received in
        stream = make(carrier, received)
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

    /// The certificate that the peer has proven to have, in DER; nil without one. Any thread.
    public var peerCertificate: [UInt8]? { stream?.peerCertificate }

    /// The TLS version, as `TLSv1.3`; nil without TLS. Any thread.
    public var tlsVersion: String? { stream?.version }

    private var stream: TLSStream? { (transport as? LayeredTransport)?.layer as? TLSStream }
  }

  private let hostBytes = Set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-".utf8)

  extension NIOCore.SocketAddress {
    /// What NIOSSL compares a certificate's addresses with: the host, or none for a name. Nil if the host is neither.
    fileprivate init?(of host: String) {
      let labels = host.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
      let isName =
        host.utf8.count <= 253 && labels.allSatisfy { 1...63 ~= $0.count && $0.allSatisfy(hostBytes.contains) }
      if !host.utf8.contains(0), let address = try? Self(ipAddress: host, port: 0) {
        self = address
      } else if isName {
        try? self.init(unixDomainSocketPath: "")
      } else {
        return nil
      }
    }
  }
#endif
