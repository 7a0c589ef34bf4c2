import Foundation
import Glibc
import RondoTestSupport
import Testing

@testable import RondoInspect
@testable import rondo_inspect

/// Texts that a stranger may have chosen, where they are written.
@Suite(.offThePool) struct EscapeTests {
  @Test func `a label of Prometheus stays in its quotes, whatever joins the next character`() {
    #expect(Prometheus.escaped("a\r\nb") == "a\r\\nb")
    #expect(Array(Prometheus.escaped("a\"\u{301}b").utf8) == Array("a\\\"\u{301}b".utf8))
    #expect(Array(Prometheus.escaped("a\\\u{301}").utf8) == Array("a\\\\\u{301}".utf8))
  }

  @Test func `no text leaves the page's script, whatever joins the next character`() {
    let page = TimelinePage.text(
      #"{"traceEvents":[],"a":"x\#u{600}</script><script>alert(1)"}"#, of: "\u{600}<b>\u{600}&")
    #expect(!Array(page.utf8).contains(subsequence: Array("</script><script>alert".utf8)))
    #expect(!Array(page.utf8).contains(subsequence: Array("<b>".utf8)))
    #expect(Array(page.utf8).contains(subsequence: Array("&amp;".utf8)))
  }

  @Test func `what another process calls its things neither ends a line nor commands the terminal`() {
    #expect(Printable.line("a\u{1b}[2J\u{9b}1m\nb\u{202e}c\u{2028}ä") == #"a\u{1b}[2J\u{9b}1m\u{a}b\u{202e}c\u{2028}ä"#)
    let frame = Answer.Frame(address: "0x1", function: "f\u{1b}]0;x\u{7}", image: nil, file: nil, line: nil, guess: nil)
    let stack = Answer.Stack(loop: "l\nforged", thread: 1, activity: "running", callouts: [], stack: [frame])
    #expect(View.text(stack) == "loop l\\u{a}forged, thread 1: running\n    f\\u{1b}]0;x\\u{7}\n")
  }

  @Test func `forms for programs are as they are, but on a terminal`() {
    let terminal = unsafe open("/dev/ptmx", O_RDWR | O_NOCTTY)
    defer { close(terminal) }
    let text = "{\"a\":\"\u{1b}]0;x\u{7}\"}\n"
    #expect(Printable.text(text, on: terminal) == "{\"a\":\"\\u{1b}]0;x\\u{7}\"}\n")
    let file = unsafe open("/dev/null", O_RDONLY)
    defer { close(file) }
    #expect(Printable.text(text, on: file) == text)
  }

  @Test func `JSON has no byte that commands a terminal`() {
    #expect(JSON.string("\u{7f}\u{9b}\u{2028}\u{202e}\u{1b}").text == #""\u007f\u009b\u2028\u202e\u001b""#)
  }
}

extension [UInt8] {
  fileprivate func contains(subsequence part: [UInt8]) -> Bool { firstRange(of: part) != nil }
}
