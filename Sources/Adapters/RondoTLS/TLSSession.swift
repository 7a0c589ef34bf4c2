#if TLS
  internal import CLinux
  internal import CTLSGuest
  internal import Rondo
  internal import RondoSockets

  /// libevent's and OpenSSL's half of a connection, from its first byte on. *loop thread*
  ///
  /// It has the socket, which is closed when libevent has let go of it.
  @safe final class TLSSession {
    /// *constant*
    let socket: Socket
    /// *constant* Whom the peer's certificate has to be of; nil for a server's side.
    private let host: String?
    /// *constant* OpenSSL asks it while the session lives.
    private let context: TLSContextHandle
    /// *constant*
    private let pointer: UnsafeMutableRawPointer

    /// What the owner is told.
    enum Happening {
      case connected, received, wrote, end, failed
    }

    /// What a session is made of.
    struct Plan {
      let socket: Socket
      let context: TLSContextHandle
      let host: String?
    }

    /// Nil if there is no memory for it.
    ///
    /// - Parameter owner: Told what happens, in callbacks of the base. It ends the session before it dies.
    @unsafe init?(_ plan: Plan, lowWater: Int, base: OpaquePointer, owner: TLSConnection) {
      let made = unsafe rondo_tls_new(
        base, plan.context.pointer, plan.socket.descriptor, plan.host, lowWater,
        { owner, event in
          // A reference of its own: what is called may end the connection.
          let connection = unsafe Unmanaged<TLSConnection>.fromOpaque(owner!).takeUnretainedValue()
          connection.happened(Happening(event))
        }, Unmanaged.passUnretained(owner).toOpaque())
      guard let made = unsafe made else { return nil }
      socket = plan.socket
      host = plan.host
      context = plan.context
      unsafe pointer = made
    }

    deinit { unsafe rondo_tls_free(pointer) }

    /// Whether a certificate can be checked against it: a name of DNS with or without underscores, or an address.
    static func isHost(_ host: String) -> Bool {
      if unsafe rondo_tls_is_address(host) != 0 { return !host.utf8.contains(0) }
      let labels = host.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
      return host.utf8.count <= 253
        && labels.allSatisfy { label in
          1...63 ~= label.count
            && label.allSatisfy { byte in
              switch byte {
              case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
                true
              default: false
              }
            }
        }
    }

    // MARK: - Receiving

    /// All that has arrived.
    func takeReceived() -> [UInt8] {
      let count = unsafe rondo_tls_received(pointer)
      return unsafe [UInt8](unsafeUninitializedCapacity: count) { room, taken in
        taken = unsafe rondo_tls_take(pointer, room.baseAddress, count)
      }
    }

    func pause() { unsafe rondo_tls_pause(pointer) }

    func resume() { unsafe rondo_tls_resume(pointer) }

    /// Whether the kernel has something from the peer, or room for what is queued.
    func hasSomethingWaiting(isReading: Bool) -> Bool {
      isReading && rondo_is_ready(socket.descriptor, 0) != 0
        || queuedByteCount > 0 && rondo_is_ready(socket.descriptor, 1) != 0
    }

    // MARK: - Sending

    /// - Returns: False if there is no memory for it.
    func send(_ bytes: RawSpan) -> Bool {
      unsafe bytes.withUnsafeBytes { unsafe rondo_tls_send(pointer, $0.baseAddress, $0.count) == 0 }
    }

    var queuedByteCount: Int { unsafe rondo_tls_queued(pointer) }

    func finish() { unsafe rondo_tls_finish(pointer) }

    var hasFinished: Bool { unsafe rondo_tls_has_finished(pointer) != 0 }

    /// How many bytes have gone through the socket, both ways.
    var movedByteCount: UInt64 { unsafe rondo_tls_moved(pointer) }

    // MARK: - What was agreed

    var chosenProtocol: String? { unsafe Self.chosenProtocol(of: pointer) }

    var version: String { unsafe String(cString: rondo_tls_version(pointer)) }

    /// - Parameter pointer: C's half of a session or a stream.
    @unsafe static func chosenProtocol(of pointer: UnsafeMutableRawPointer) -> String? {
      var length: UInt32 = 0
      guard let name = unsafe rondo_tls_protocol(pointer, &length) else { return nil }
      return unsafe String(decoding: UnsafeBufferPointer(start: name, count: Int(length)), as: UTF8.self)
    }

    // MARK: - Failing

    /// Why it failed. Once.
    func takeFailure(isOpen: Bool) -> TLSError {
      TLSError(unsafe rondo_tls_failure(pointer), of: host, isOpen ? .receive : .connect)
    }
  }

  extension TLSError {
    /// - Parameters:
    ///   - host: Whom the peer's certificate has to be of; nil for a server's side.
    ///   - call: What failed, if a system call did.
    init(_ failure: rondo_tls_failure, of host: String?, _ call: SocketError.Call) {
      let text = string(of: failure.text)
      switch UInt32(failure.reason) {
      case RONDO_TLS_SYSTEM.rawValue: self = .connection(SocketError(call, -failure.number))
      case RONDO_TLS_TRUNCATED.rawValue: self = .truncated
      case RONDO_TLS_CERTIFICATE.rawValue: self = .certificate(Self.problem(failure.number, text, host))
      case RONDO_TLS_ALERT.rawValue: self = .refused(alert: text)
      default: self = .violation(text)
      }
    }

    private static func problem(_ number: CInt, _ text: String, _ host: String?) -> CertificateProblem {
      switch number {
      case rondo_tls_problem_wrong_host(), rondo_tls_problem_wrong_address(): .wrongHost(expected: host ?? "")
      case rondo_tls_problem_expired(): .expired
      case rondo_tls_problem_not_yet_valid(): .notYetValid
      default: rondo_tls_is_untrusted(number) != 0 ? .untrusted(text) : .other(Int(number), text)
      }
    }
  }

  extension TLSSession.Happening {
    fileprivate init(_ event: CInt) {
      switch UInt32(event) {
      case RONDO_TLS_CONNECTED.rawValue: self = .connected
      case RONDO_TLS_RECEIVED.rawValue: self = .received
      case RONDO_TLS_WROTE.rawValue: self = .wrote
      case RONDO_TLS_END.rawValue: self = .end
      default: self = .failed
      }
    }
  }
#endif
