#if TLS
  extension TLSConnection {
    /// How long things may take, and how much may wait.
    public struct Limits: Hashable, Sendable {
      /// How long connecting and the handshake may take.
      public var handshake: Duration = .seconds(10)
      /// For how long no byte may move before the connection fails. Nil for as long as the peer likes.
      public var idle: Duration? = .seconds(300)
      /// `.writable` is told when no more than this many bytes wait.
      public var lowWater = 16 * 1024
      /// Whoever has more than this many bytes wait had better not send until `.writable`.
      public var highWater = 64 * 1024
      /// How many bytes may wait at most.
      public var queue = 1024 * 1024

      public init() {}
    }

    /// What the handler is told.
    public enum Event: Hashable, Sendable {
      /// The handshake is over. Once, and before anything else.
      case connected
      /// Data came in.
      case received([UInt8])
      /// The peer has said that it sends no more. It can still be sent to: invalidate or close the connection when done.
      case end
      /// Few enough bytes wait again: no more than `lowWater`, after more than `highWater`.
      case writable
      /// All that waited has been handed to the kernel.
      case sent
      /// The connection is over, and invalid afterwards.
      case failed(TLSError)
    }
  }
#endif
