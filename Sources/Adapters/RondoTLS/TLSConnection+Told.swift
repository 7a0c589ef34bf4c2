#if TLS
  public import RondoSockets

  extension TLSConnection {
    /// The time limits and queue limits of a connection.
    public struct Limits: Hashable, Sendable {
      /// How long connecting and the handshake may take.
      ///
      /// If data of the peer is unread when the time has passed, the connection waits once more.
      public var handshake: Duration = .seconds(10)
      /// The time without a transferred byte after which the connection fails; nil for no limit.
      public var idle: Duration? = .seconds(300)
      /// A congested connection reports `.writable` when at most this many bytes wait.
      public var lowWater = 16 * 1024
      /// The connection is congested when more bytes than this wait.
      public var highWater = 64 * 1024
      /// The most bytes that may wait.
      public var queue = 1024 * 1024

      public init() {}
    }

    /// An event that the connection passes to its handler.
    public enum Event: Hashable, Sendable {
      /// The handshake succeeded. Once, before every other event except `.failed`.
      case connected
      /// Data arrived.
      case received([UInt8])
      /// The peer sends no more. You can still send; close or invalidate the connection afterwards.
      case end
      /// The connection is no longer congested: at most `lowWater` bytes wait.
      case writable
      /// The kernel has taken all queued bytes.
      case sent
      /// The connection failed. It is invalid after the handler returns.
      case failed(TLSError)
    }
  }
#endif
