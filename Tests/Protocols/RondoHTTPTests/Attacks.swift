/// A request that a server may take for another one, or for two.
struct Attack {
  let name: String
  let bytes: [UInt8]
  /// What the client is told; `served` if RFC 9112 allows the request.
  let status: Int
  /// Whether the handler is called: what is wrong is in the body.
  let isInBody: Bool
  static let served = 200

  init(_ name: String, _ text: String, _ status: Int = 400, isInBody: Bool = false) {
    (self.name, self.status, self.isInBody) = (name, status, isInBody)
    // The one byte that is no text of UTF-8.
    bytes = text.unicodeScalars.flatMap { $0 == "\u{FF}" ? [0xFF] : Array(String($0).utf8) }
  }

  /// What follows each of them in the same connection.
  static let smuggled = Array("GET /admin HTTP/1.1\r\nHost: a\r\n\r\n".utf8)

  private static func post(_ fields: String, _ body: String = "0\r\n\r\n") -> String {
    "POST /x HTTP/1.1\r\nHost: a\r\n\(fields)\r\n\r\n\(body)"
  }

  private static func chunks(_ name: String, _ body: String, _ status: Int = 400) -> Attack {
    Attack(name, post("Transfer-Encoding: chunked", body), status, isInBody: true)
  }

  private static func field(_ name: String, _ line: String, _ status: Int = 400) -> Attack {
    Attack(name, "GET /x HTTP/1.1\r\nHost: a\r\n\(line)\r\n\r\n", status)
  }

  private static func line(_ name: String, _ line: String, _ status: Int = 400) -> Attack {
    Attack(name, "\(line)\r\nHost: a\r\n\r\n", status)
  }

  /// Section 6: two servers may see the end of the body at two places.
  private static let lengths = [
    Attack("a length and chunks", post("Content-Length: 5\r\nTransfer-Encoding: chunked")),
    Attack("chunks and a length", post("Transfer-Encoding: chunked\r\nContent-Length: 5")),
    Attack("two lengths", post("Content-Length: 5\r\nContent-Length: 6", "hello")),
    Attack("a length twice", post("Content-Length: 5\r\nContent-Length: 5", "hello")),
    Attack("a list of a length", post("Content-Length: 5, 5", "hello")),
    Attack("a length with a plus", post("Content-Length: +5", "hello")),
    Attack("a negative length", post("Content-Length: -5", "hello")),
    Attack("a hexadecimal length", post("Content-Length: 0x5", "hello")),
    Attack("an empty length", post("Content-Length:", "")),
    Attack("a length of spaces", post("Content-Length: \t ", "")),
    Attack("a length with a space", post("Content-Length: 1 0", "hello")),
    Attack("a length with a fraction", post("Content-Length: 5.0", "hello")),
    Attack("a length of 64 bits", post("Content-Length: 18446744073709551621", "hello")),
    Attack("a length of 63 bits", post("Content-Length: 9223372036854775808", "hello")),
    // Allowed by section 5, but the parser knows no tab there.
    Attack("a length with tabs around it", post("Content-Length: \t5 \t", "hello")),
    // A decimal number may begin with zeros, and spaces around a value are no part of it.
    Attack("a length with zeros", post("Content-Length: 0005", "hello"), served),
    Attack("a length with spaces around it", post("Content-Length:  5  ", "hello"), served),
  ]

  /// Section 6.1: only `chunked`, once and last, is known.
  private static let encodings = [
    Attack("an encoding that looks like chunks", post("Transfer-Encoding: xchunked")),
    Attack("chunks twice", post("Transfer-Encoding: chunked, chunked")),
    Attack("chunks twice, in two fields", post("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked")),
    // "SHOULD respond with 501".
    Attack("chunks of an encoding", post("Transfer-Encoding: gzip, chunked"), 501),
    Attack("an encoding of chunks", post("Transfer-Encoding: chunked, gzip")),
    Attack("an encoding without chunks", post("Transfer-Encoding: gzip")),
    Attack("an identity", post("Transfer-Encoding: identity")),
    Attack("chunks in two fields with another", post("Transfer-Encoding: chunked\r\nTransfer-Encoding: identity")),
    Attack("an empty encoding", post("Transfer-Encoding:")),
    Attack("a vertical tab before chunks", post("Transfer-Encoding: \u{0B}chunked")),
    Attack("quoted chunks", post("Transfer-Encoding: \"chunked\"")),
    Attack("a parameter of chunks", post("Transfer-Encoding: chunked;q=1")),
    Attack("chunks in HTTP 1.0", "POST /x HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
    // Allowed by section 5, but the parser knows no tab there. It says so when it comes to the body.
    Attack("chunks with tabs around them", post("Transfer-Encoding: \tchunked\t"), isInBody: true),
    // Its name has no case, and spaces around it are no part of it.
    Attack("chunks in capitals", post("Transfer-Encoding: CHUNKED"), served),
    Attack("chunks behind spaces", post("Transfer-Encoding:  chunked  "), served),
  ]

  /// Section 7.1.
  private static let chunkLines = [
    chunks("a size with 0x", "0x5\r\nhello\r\n0\r\n\r\n"),
    chunks("a negative size", "-1\r\nhello\r\n0\r\n\r\n"),
    chunks("a size with a plus", "+5\r\nhello\r\n0\r\n\r\n"),
    chunks("an empty size", "\r\nhello\r\n0\r\n\r\n"),
    chunks("a size of 68 bits", "10000000000000005\r\nhello\r\n0\r\n\r\n"),
    // So many bytes do not come in time.
    chunks("a size of 64 bits", "FFFFFFFFFFFFFFFF\r\nhello\r\n0\r\n\r\n", 408),
    chunks("a space before a size", " 5\r\nhello\r\n0\r\n\r\n"),
    chunks("a space behind a size", "5 \r\nhello\r\n0\r\n\r\n"),
    chunks("an underscore in a size", "1_0\r\nhello\r\n0\r\n\r\n"),
    chunks("a size with a bare LF", "5\nhello\r\n0\r\n\r\n"),
    chunks("a size with a bare CR", "5\rhello\r\n0\r\n\r\n"),
    chunks("data without an end", "5\r\nhello0\r\n\r\n"),
    chunks("data that is too long", "5\r\nhello!\r\n0\r\n\r\n"),
    chunks("data with a bare LF as end", "5\r\nhello\n0\r\n\r\n"),
    chunks("a last chunk with a bare LF", "5\r\nhello\r\n0\n\n"),
    chunks("a bare LF as the end of trailers", "0\r\nA: b\r\n\n"),
    chunks("a bare CR as the end of trailers", "0\r\nA: b\r\n\r"),
    chunks("a trailer with a bare LF", "0\r\nA: b\nC: d\r\n\r\n"),
    chunks("a trailer without a colon", "0\r\nab\r\n\r\n"),
    chunks("a trailer with a space before its colon", "0\r\nA : b\r\n\r\n"),
    chunks("a NUL in a trailer", "0\r\nA: b\u{00}\r\n\r\n"),
    chunks("a bare LF in an extension", "5;a\nb\r\nhello\r\n0\r\n\r\n"),
    chunks("a bare CR in an extension", "5;a\rb\r\nhello\r\n0\r\n\r\n"),
    chunks("a NUL in an extension", "5;a=\u{00}\r\nhello\r\n0\r\n\r\n"),
    chunks("a length among the trailers", "0\r\nContent-Length: 50\r\n\r\n"),
    chunks("chunks among the trailers", "0\r\nTransfer-Encoding: chunked\r\n\r\n"),
    // "A recipient MUST ignore unrecognized chunk extensions." A size may begin with zeros.
    chunks("an extension", "5;a=b;c=\"d\"\r\nhello\r\n0;e\r\n\r\n", served),
    chunks("a size with zeros", "0000005\r\nhello\r\n000\r\n\r\n", served),
  ]

  /// Sections 2.2 and 5.
  private static let fields = [
    field("a space before a colon", "A : b"),
    field("a tab before a colon", "A\t: b"),
    field("a length with a space before the colon", "Content-Length : 33"),
    field("a folded line", "A: b\r\n c"),
    field("a line folded by a tab", "A: b\r\n\tc"),
    field("a folded empty line", "A: b\r\n \r\n"),
    field("a bare LF", "A: b\nC: d"),
    field("a bare CR", "A: b\rC: d"),
    field("a CR before the end", "A: b\r"),
    field("a NUL in a value", "A: b\u{00}c"),
    field("a NUL in a name", "A\u{00}: b"),
    field("another control in a value", "A: b\u{01}c"),
    field("no colon", "nonsense"),
    field("an empty name", ": b"),
    field("a name with a space", "A B: c"),
    field("a name with a slash", "A/B: c"),
    field("a name that is no ASCII", "\u{FF}: c"),
    Attack("a space before the first field", "GET /x HTTP/1.1\r\n Host: a\r\n\r\n"),
    Attack("bare LFs", "GET /x HTTP/1.1\nHost: a\n\n"),
    Attack("bare CRs", "GET /x HTTP/1.1\rHost: a\r\r"),
    Attack("a bare LF as the end of a head", "GET /x HTTP/1.1\r\nHost: a\r\n\n"),
    // Opaque bytes are allowed in a value; the handler sees a replacement.
    field("a byte that is no text", "A: \u{FF}", served),
    field("an empty value", "A:", served),
  ]

  /// Section 3.2.
  private static let hosts = [
    Attack("no host", "GET /x HTTP/1.1\r\n\r\n"),
    Attack("two hosts", "GET /x HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n"),
    Attack("a host twice", "GET /x HTTP/1.1\r\nHost: a\r\nhost: a\r\n\r\n"),
    Attack("a list of hosts", "GET /x HTTP/1.1\r\nHost: a, b\r\n\r\n"),
    Attack("a host with a path", "GET /x HTTP/1.1\r\nHost: a/b\r\n\r\n"),
    Attack("a host with a user", "GET /x HTTP/1.1\r\nHost: u@a\r\n\r\n"),
    Attack("a host with a space", "GET /x HTTP/1.1\r\nHost: a b\r\n\r\n"),
    Attack("a host that is no ASCII", "GET /x HTTP/1.1\r\nHost: \u{FF}\r\n\r\n"),
  ]

  /// Section 3.
  private static let lines = [
    line("two spaces before the target", "GET  /x HTTP/1.1"),
    line("two spaces behind the target", "GET /x  HTTP/1.1"),
    line("a tab in the line", "GET\t/x HTTP/1.1"),
    line("a space before the method", " GET /x HTTP/1.1"),
    // The parser's answer to all that is wrong with a version.
    line("a space behind the version", "GET /x HTTP/1.1 ", 505),
    line("no version", "GET /x", 505),
    line("no target", "GET HTTP/1.1"),
    line("HTTP 2.0", "GET /x HTTP/2.0", 505),
    line("HTTP 0.9", "GET /x HTTP/0.9", 505),
    line("HTTP 1.10", "GET /x HTTP/1.10", 505),
    line("HTTP 1.2", "GET /x HTTP/1.2", 505),
    line("a version without a point", "GET /x HTTP/11", 505),
    line("http in small letters", "GET /x http/1.1"),
    line("RTSP", "GET /x RTSP/1.0"),
    line("ICE", "GET /x ICE/1.0"),
    line("the preface of HTTP 2", "PRI * HTTP/2.0", 505),
    line("a method in small letters", "get /x HTTP/1.1"),
    line("a method with a colon", "GE:T /x HTTP/1.1"),
    line("a NUL in the target", "GET /x\u{00} HTTP/1.1"),
    line("a byte in the target that is no ASCII", "GET /\u{FF} HTTP/1.1"),
    line("a fragment", "GET /x#y HTTP/1.1"),
    line("a target without a slash", "GET x HTTP/1.1"),
    line("a star for a GET", "GET * HTTP/1.1"),
    line("another scheme", "GET ftp://a/x HTTP/1.1"),
    line("an address without a host", "GET http:///x HTTP/1.1"),
    line("an address with a user", "GET http://u@a/x HTTP/1.1"),
    line("a path to connect to", "CONNECT /x HTTP/1.1"),
    line("a bare LF before the line", "\nGET /x HTTP/1.1"),
    line("TLS", "\u{16}\u{03}\u{01}"),
    // "A server SHOULD ignore at least one empty line received prior to the request-line."
    line("empty lines", "\r\n\r\nGET /x HTTP/1.1", served),
  ]

  static let all = lengths + encodings + chunkLines + fields + hosts + lines
}
