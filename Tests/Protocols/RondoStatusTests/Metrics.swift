import RegexBuilder
import Testing

/// A text in Prometheus's form, version 0.0.4, read strictly.
struct Metrics {
  /// The samples, by their names with their labels.
  private(set) var values: [String: Double] = [:]

  struct Malformed: Error { let line: String, cause: String }

  init(_ text: String) throws {
    guard text.hasSuffix("\n") else { throw Malformed(line: text, cause: "no end of the last line") }
    var types: [String: Substring] = [:]
    // Whose samples follow each other.
    var family = ""
    for line in text.dropLast().split(separator: "\n", omittingEmptySubsequences: false).map(String.init) {
      func fail(_ cause: String) -> Malformed { Malformed(line: line, cause: cause) }
      if line.hasPrefix("#") {
        guard let match = line.wholeMatch(of: /# TYPE ([a-zA-Z_:][\w:]*) (counter|gauge|histogram|summary|untyped)/)
        else {
          // Any other comment says nothing.
          if line.hasPrefix("# TYPE") { throw fail("no type") }
          continue
        }
        family = String(match.output.1)
        if types.updateValue(match.output.2, forKey: family) != nil { throw fail("the type once more") }
        continue
      }
      let label = /[a-zA-Z_]\w*="(?:[^"\\\n]|\\["\\n])*"/
      let sample = Regex {
        Capture(/[a-zA-Z_:][\w:]*/)
        Optionally {
          "{"
          label
          ZeroOrMore {
            ","
            label
          }
          "}"
        }
      }
      guard let match = try sample.prefixMatch(in: line) else { throw fail("no sample") }
      let rest = line[match.range.upperBound...]
      guard rest.hasPrefix(" "), let value = Double(rest.dropFirst()) else { throw fail("no number") }
      let name = match.output.1
      let isPart = types[family] == "summary" && (name == family + "_sum" || name == family + "_count")
      guard name == family || isPart else { throw fail("a sample without its type just before") }
      if values.updateValue(value, forKey: String(match.output.0)) != nil { throw fail("the sample once more") }
    }
  }
}

/// The reader itself.
@Suite struct MetricsTests {
  @Test func `the reader takes counters, gauges and summaries with labels`() throws {
    let text = """
      # TYPE a_total counter
      a_total{x="1",y="q\\"\\\\\\n"} 3
      a_total{x="2"} 4
      # A comment.
      # TYPE s summary
      s{quantile="0.5"} 0.25
      s_sum 1.5
      s_count 2

      """
    let values = try Metrics(text).values
    #expect(values.count == 5 && values[#"a_total{x="2"}"#] == 4 && values["s_sum"] == 1.5)
  }

  @Test(arguments: [
    "", "a 1\n", "# TYPE a counter\na 1", "# TYPE a counter\n\na 1\n", "# TYPE a counter\n# TYPE a counter\na 1\n",
    "# TYPE a counter\na 1\na 1\n", "# TYPE a counter\n# TYPE b counter\na 1\n", "# TYPE a counter\na_sum 1\n",
    "# TYPE a sum\na 1\n", "# TYPE a counter\na one\n", "# TYPE a counter\na{x=1} 1\n",
    "# TYPE a counter\na{x=\"\"\"} 1\n",
    "# TYPE a counter\na{x=\"1\",} 1\n", "# TYPE a counter\na{} 1\n", "# TYPE a counter\na  1\n",
    "# TYPE a counter\n1a 1\n",
  ])
  func `the reader refuses`(_ text: String) {
    #expect(throws: Metrics.Malformed.self) { try Metrics(text) }
  }
}
