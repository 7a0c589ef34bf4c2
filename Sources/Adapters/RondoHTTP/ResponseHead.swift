#if HTTP
  internal import HTTPTypes

  /// The head of a response as it is sent, and how its body is framed. RFC 9112, sections 6 and 9.
  struct ResponseHead {
    private(set) var bytes: [UInt8] = []
    /// Whether a body is sent at all: not to HEAD, and not with some statuses.
    let hasBody: Bool
    let isChunked: Bool
    /// Whether the connection goes on after it.
    let isKept: Bool

    /// - Parameter length: The number of bytes of the body; nil if it is not known.
    init(_ head: HTTPResponse, to request: RequestHead, length: Int?, mayKeep: Bool, date: [UInt8]) {
      let code = head.status.code
      let canHaveBody = code >= 200 && code != 204 && code != 304
      hasBody = canHaveBody && request.request.method != .head
      isChunked = canHaveBody && length == nil && request.isVersion11
      // A body without a length or chunks ends with the connection.
      let hasEnd = !canHaveBody || length != nil || isChunked
      isKept = mayKeep && hasEnd && head.headerFields[.connection]?.lowercased() != "close"
      bytes.reserveCapacity(256)
      bytes.append(status: head.status)
      var hasDate = false
      for field in head.headerFields {
        switch field.name {
        // These are the server's to say.
        case .contentLength, .transferEncoding, .connection: continue
        case .date: hasDate = true
        default: break
        }
        bytes.append(field: field)
      }
      if !hasDate { bytes += date }
      if code == 101 {
        bytes += "connection: upgrade\r\n".utf8
      } else if !isKept {
        bytes += "connection: close\r\n".utf8
      } else if !request.isVersion11 {
        bytes += "connection: keep-alive\r\n".utf8
      }
      if isChunked {
        bytes += "transfer-encoding: chunked\r\n".utf8
      } else if canHaveBody, let length {
        bytes += "content-length: \(length)\r\n".utf8
      }
      bytes += "\r\n".utf8
    }

    /// A whole response to a client that broke a rule.
    static func refusal(_ status: HTTPResponse.Status, date: [UInt8]) -> [UInt8] {
      var bytes: [UInt8] = []
      bytes.append(status: status)
      bytes += date
      bytes += "connection: close\r\ncontent-length: 0\r\n\r\n".utf8
      return bytes
    }
  }

  extension [UInt8] {
    fileprivate mutating func append(status: HTTPResponse.Status) {
      self += "HTTP/1.1 \(status.code) \(status.reasonPhrase)\r\n".utf8
    }

    mutating func append(field: HTTPField) {
      self += field.name.rawName.utf8
      self += ": ".utf8
      self += field.value.utf8
      self += "\r\n".utf8
    }
  }
#endif
