import RondoFoundation
import Testing

@Suite struct ImportTests {
  @Test func `the module brings Foundation with it`() {
    #expect(URL(filePath: "/a/b").lastPathComponent == "b")
  }
}
