import Testing

/// The old and the new lines of the article From the idiom to Rondo, each in a program.
@Suite struct IdiomTests {
  @Test func `each idiom prints the same with Foundation and CFRunLoop as with Rondo`() throws {
    let old = try lines(of: "idioms")
    #expect(old.count == 13)
    #expect(try lines(of: "idioms-rondo") == old)
  }
}
