#if HTTP
  public import HTTPTypes
  internal import NIOHTTP1
  internal import Rondo
  public import RondoSockets

  /// Why a call of an HTTP server failed.
  ///
  /// A handler need not catch it: if it has not begun to respond, the client gets ``status``.
  public indirect enum HTTPServerError: Error, Hashable, Sendable {
    /// The connection failed.
    case connection(ConnectionError)
    /// The client's bytes are no request of HTTP/1.1: what is wrong with them.
    case malformed(String)
    /// The request needs what the server does not have; the client gets this status.
    case refused(HTTPResponse.Status)
    /// The body is longer than the limit.
    case bodyTooLarge(limit: Int)
    /// The head or the body did not come in time.
    case timedOut
    /// The client ended the connection within a request.
    case endedEarly
    /// The response was sent already, or its handler has returned.
    case over
    /// The handler returned without a response, or gave one that is not final.
    case noResponse
    /// The body has not the length that its `Content-Length` says.
    case wrongLength(sent: Int, expected: Int)

    /// What the client is told.
    public var status: HTTPResponse.Status {
      switch self {
      case .malformed, .endedEarly: .badRequest
      case .refused(let status): status
      case .bodyTooLarge: .contentTooLarge
      case .timedOut: .requestTimeout
      case .connection, .over, .noResponse, .wrongLength: .internalServerError
      }
    }

    /// Which limit of bytes the client has met, if one. Those of time are counted by the wait.
    var limit: ServerLimit? {
      switch self {
      case .refused(.requestHeaderFieldsTooLarge), .refused(.uriTooLong): .headBytes
      case .bodyTooLarge: .bodyBytes
      default: nil
      }
    }

    /// Whether a client caused it.
    var isClients: Bool {
      switch self {
      case .malformed, .refused, .bodyTooLarge, .timedOut, .endedEarly, .connection: true
      case .over, .noResponse, .wrongLength: false
      }
    }

    init(_ error: ConnectionError) { self = error == .wait(.timedOut) ? .timedOut : .connection(error) }

    /// An error of SwiftNIO's parser.
    init(parsing error: any Error) {
      switch error as? HTTPParserError {
      case .headerOverflow: self = .refused(.requestHeaderFieldsTooLarge)
      case .invalidVersion: self = .refused(.httpVersionNotSupported)
      default: self = .malformed("\(error)")
      }
    }
  }

  extension HTTPServerError: CustomStringConvertible {
    /// A sentence with the cause.
    public var description: String {
      switch self {
      case .connection(let error): "\(error)"
      case .malformed(let reason): "the client sent no request of HTTP/1.1: \(reason)"
      case .refused(let status): "the request was refused: \(status)"
      case .bodyTooLarge(let limit): "the body of the request is longer than \(limit) bytes"
      case .timedOut: "the request did not come in time"
      case .endedEarly: "the client ended the connection within a request"
      case .over: "the response was sent already, or its handler has returned"
      case .noResponse: "the handler returned without a response"
      case .wrongLength(let sent, let expected): "the response has \(sent) bytes, its Content-Length is \(expected)"
      }
    }
  }
#endif
