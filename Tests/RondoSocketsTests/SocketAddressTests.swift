import Glibc
import RondoSockets
import Testing

/// Addresses as text and as the kernel's bytes; nothing is asked of the kernel but the number of an interface.
@Suite struct SocketAddressTests {
  @Test(arguments: [
    "127.0.0.1:80", "0.0.0.0:0", "255.255.255.255:65535", "[::1]:80", "[::]:0", "[2001:db8::1]:443", "[fe80::1%2]:80",
    "/run/app.sock", "unix:app.sock", "unix:", "@app", "@a\\x00b", "@\\x5c", "@\\x00", "/tmp/\\xc3\\xa4",
  ])
  func `a text is printed as it was read`(_ text: String) throws {
    #expect(try SocketAddress(parsing: text).description == text)
    #expect(SocketAddress(text)?.description == text)
  }

  @Test(arguments: [
    ("[0:0:0:0:0:0:0:1]:80", "[::1]:80"), ("[FE80::1%0]:1", "[fe80::1]:1"), ("unix:/run/a", "/run/a"),
    ("@\\x61", "@a"), ("@a\\b", "@a\\x5cb"), ("127.0.0.1:080", "127.0.0.1:80"), ("@ä", "@\\xc3\\xa4"),
  ])
  func `other spellings are read too`(_ text: String, _ canonical: String) throws {
    #expect(try SocketAddress(parsing: text).description == canonical)
  }

  @Test(arguments: [
    ("", AddressError.empty), ("@", .empty), ("127.0.0.1", .noPort("127.0.0.1")), ("[::1]", .noPort("[::1]")),
    ("127.0.0.1:", .badPort("127.0.0.1:")), ("127.0.0.1:65536", .badPort("127.0.0.1:65536")),
    ("127.0.0.1:-1", .badPort("127.0.0.1:-1")), ("127.0.0.1:+1", .badPort("127.0.0.1:+1")),
    ("127.0.0.1:٣", .badPort("127.0.0.1:٣")), ("localhost:80", .badHost("localhost:80")),
    ("127.1:80", .badHost("127.1:80")), ("1.2.3.4.5:6", .badHost("1.2.3.4.5:6")), ("::1:80", .badHost("::1:80")),
    ("[::1%no such]:80", .noInterface("[::1%no such]:80")), ("[::1%]:80", .badHost("[::1%]:80")),
    ("[]:80", .badHost("[]:80")),
    ("[1.2.3.4]:80", .badHost("[1.2.3.4]:80")), ("127.0.0.1\0:80", .badHost("127.0.0.1\0:80")),
    ("/a\0b", .containsZero("/a\0b")), ("/a\\x00b", .containsZero("/a\\x00b")), ("@\\x0g", .badEscape("@\\x0g")),
    ("@\\x+1", .badEscape("@\\x+1")), ("@a\\x0", .badEscape("@a\\x0")), ("unix:\\x", .badEscape("unix:\\x")),
  ])
  func `what is no address is refused with the reason`(_ text: String, _ error: AddressError) {
    #expect(throws: error) { try SocketAddress(parsing: text) }
    #expect(SocketAddress(text) == nil)
  }

  @Test func `a scope may be the name of an interface`() throws {
    let number = unsafe if_nametoindex("lo")
    try #require(number > 0, "This machine has no loopback interface.")
    let address = try SocketAddress(parsing: "[fe80::1%lo]:80")
    #expect(address == SocketAddress("[fe80::1%\(number)]:80"))
  }

  @Test func `a name of 107 bytes fits and one of 108 does not`() throws {
    let fits = String(repeating: "a", count: 107)
    #expect(try SocketAddress.abstract(fits).socketBytes.count == 2 + 1 + 107)
    #expect(try SocketAddress.file(fits).socketBytes.count == 2 + 107 + 1)
    #expect(throws: AddressError.tooLong(fits + "a", limit: 107)) { try SocketAddress.abstract(fits + "a") }
    #expect(throws: AddressError.tooLong(fits + "a", limit: 107)) { try SocketAddress.file(fits + "a") }
  }

  @Test func `an internet address has the kernel's bytes`() {
    let four = SocketAddress.ipv4(IPv4Address(number: 0x0102_0304), port: 0x1234)
    #expect(four.socketBytes == [2, 0, 0x12, 0x34, 1, 2, 3, 4, 0, 0, 0, 0, 0, 0, 0, 0])
    let six = SocketAddress.ipv6(.loopback, port: 1, scope: 3)
    let zeros = [UInt8](repeating: 0, count: 15)
    #expect(six.socketBytes == [10, 0, 0, 1, 0, 0, 0, 0] + zeros + [1, 3, 0, 0, 0])
  }

  @Test(arguments: ["1.2.3.4:5", "[1:2:3:4:5:6:7:8%9]:10", "/a/b", "@ab", "@\\x00", "unix:"])
  func `the bytes of an address are read back`(_ text: String) throws {
    let address = try SocketAddress(parsing: text)
    #expect(try SocketAddress(socketBytes: address.socketBytes) == address)
  }

  @Test(
    arguments: [
      ([], 0), ([2], 0), ([2, 0, 1, 2, 3], 2), ([10, 0] + [UInt8](repeating: 0, count: 14), 10), ([16, 0, 0], 16),
      ([1, 0] + [UInt8](repeating: 65, count: 109), 1),
    ] as [([UInt8], UInt16)])
  func `bytes of another family or length are refused`(_ bytes: [UInt8], _ family: UInt16) {
    #expect(throws: AddressError.badBytes(family: family, count: bytes.count)) {
      try SocketAddress(socketBytes: bytes)
    }
  }

  @Test func `a path that fills its room without a zero is read whole`() throws {
    let bytes: [UInt8] = [1, 0] + [UInt8](repeating: 97, count: 108)
    #expect(try SocketAddress(socketBytes: bytes).description == "unix:" + String(repeating: "a", count: 108))
  }
}
