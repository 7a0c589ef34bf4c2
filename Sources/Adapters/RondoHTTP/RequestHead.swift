#if HTTP
  internal import HTTPTypes
  internal import NIOHTTP1

  /// A request's head, once what RFC 9112 demands of a server beside the parser's work is checked.
  struct RequestHead {
    var request: HTTPRequest
    /// Whether the client can be sent chunks, and keeps the connection unless told otherwise.
    let isVersion11: Bool
    let isKeptAlive: Bool
    /// Whether the parser takes no more requests after this one.
    let isLast: Bool
    let expectsContinue: Bool
    /// Nil for chunks, and for no body.
    let contentLength: Int?
    private static let host = HTTPField.Name("Host")!

    /// - Parameter line: The first line as it came.
    init(_ head: HTTPRequestHead, line: [UInt8], isSecure: Bool) throws(HTTPServerError) {
      guard Self.isLine(line, of: head) else {
        throw .malformed("its first line is \(String(decoding: line, as: UTF8.self).debugDescription)")
      }
      isVersion11 = head.version.minor > 0
      isKeptAlive = head.isKeepAlive
      var fields = HTTPFields()
      fields.reserveCapacity(head.headers.count)
      var hosts: [String] = []
      var (length, encoding, isUpgrade, expectsContinue) = (String?.none, String?.none, false, false)
      for (text, value) in head.headers {
        let field = try Self.field(text, value)
        let value = field.value
        switch field.name {
        case .contentLength:
          if length != nil { throw .malformed("it has two lengths") }
          length = value
        case .transferEncoding: encoding = (encoding.map { $0 + "," } ?? "") + value
        case .upgrade: isUpgrade = true
        case .expect: expectsContinue = value.lowercased() == "100-continue"
        case Self.host:
          // It is a part of the target, not a field.
          hosts.append(value)
          continue
        default: break
        }
        fields.append(field)
      }
      guard hosts.count == 1 || (hosts.isEmpty && !isVersion11), hosts.allSatisfy(Self.isAuthority) else {
        throw .malformed("its hosts are \(hosts)")
      }
      // A proxy in front may take one of them, and this server the other: one request for two.
      if encoding != nil, length != nil || !isVersion11 { throw .malformed("its encoding and its length disagree") }
      if let encoding { try Self.check(encoding) }
      contentLength = length.flatMap { Int($0) }
      if let length, !length.utf8.allSatisfy({ 0x30...0x39 ~= $0 }) || contentLength == nil {
        throw .malformed("its length is \(length.debugDescription)")
      }
      self.expectsContinue = expectsContinue && isVersion11 && (encoding != nil || contentLength ?? 0 > 0)
      isLast = isUpgrade || head.method == .CONNECT
      let target = try Target(head.uri, head.method, host: hosts.first)
      guard let method = HTTPRequest.Method(head.method.rawValue) else { throw .malformed("its method is no token") }
      request = HTTPRequest(
        method: method, scheme: isSecure ? "https" : "http", authority: target.authority, path: target.path,
        headerFields: fields)
    }

    /// Whether a first line has no more than what the parser made of it: that skips spaces, and knows other protocols.
    private static func isLine(_ line: [UInt8], of head: HTTPRequestHead) -> Bool {
      var rest = line[...]
      for text in [head.method.rawValue, " ", head.uri, " HTTP/1."] {
        guard rest.starts(with: text.utf8) else { return false }
        rest.removeFirst(text.utf8.count)
      }
      return rest.count == 1
    }

    /// A field of a head, or of trailers.
    static func field(_ text: String, _ value: String) throws(HTTPServerError) -> HTTPField {
      let value = withoutSpaces(value)
      guard let name = HTTPField.Name(text), HTTPField.isValidValue(value) else {
        throw .malformed("the field \(text.debugDescription) is invalid")
      }
      return HTTPField(name: name, value: value)
    }

    /// Spaces behind a value are no part of it. The parser leaves out those before it alone.
    private static func withoutSpaces(_ value: String) -> String {
      var rest = value[...]
      while let last = rest.utf8.last, last == 0x20 || last == 0x09 { rest.removeLast() }
      return String(rest)
    }

    /// Section 6.3: chunks come last, and once. No other encoding is known.
    private static func check(_ encoding: String) throws(HTTPServerError) {
      let names = encoding.lowercased().split { ", \t".contains($0) }
      guard names.last == "chunked", names.count(where: { $0 == "chunked" }) == 1 else {
        throw .malformed("its encoding is \(encoding.debugDescription)")
      }
      if names.count > 1 { throw .refused(.notImplemented) }
    }

    /// Whether a text can be a host with a port: none of it has a meaning elsewhere in an address.
    fileprivate static func isAuthority(_ text: some StringProtocol) -> Bool {
      text.utf8.allSatisfy { 0x21...0x7E ~= $0 && !"\"#,/<>?@\\^`{|}".utf8.contains($0) }
    }
  }

  /// What a request is for. RFC 9112, section 3.2.
  private struct Target {
    var authority: String?
    var path: String?

    init(_ uri: String, _ method: HTTPMethod, host: String?) throws(HTTPServerError) {
      authority = host
      path = uri
      guard uri.utf8.allSatisfy({ 0x21...0x7E ~= $0 && $0 != UInt8(ascii: "#") }) else {
        throw .malformed("its target has an invalid byte")
      }
      if method == .CONNECT {
        (authority, path) = (uri, nil)
      } else if uri.utf8.first == UInt8(ascii: "/") || (uri == "*" && method == .OPTIONS) {
        return
      } else {
        let lowered = uri.prefix(8).lowercased()
        guard let scheme = ["http://", "https://"].first(where: lowered.hasPrefix) else {
          throw .malformed("its target is neither a path nor an address")
        }
        let rest = uri.dropFirst(scheme.count)
        let end = rest.firstIndex { $0 == "/" || $0 == "?" } ?? rest.endIndex
        authority = String(rest[..<end])
        path = rest[end...].first == "/" ? String(rest[end...]) : "/" + rest[end...]
      }
      guard let authority, !authority.isEmpty, RequestHead.isAuthority(authority) else {
        throw .malformed("its target has no valid host")
      }
    }
  }
#endif
