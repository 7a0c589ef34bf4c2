import RondoTestSupport
import Testing

/// Descriptors run out. Everything is said in a release build as well.
@Suite(.serialized, .offThePool) struct ShortageTests {
  @Test func `a loop holds three descriptors, each further mode one, and the main loop the main queue's`() throws {
    #expect(try Probe.findings("held") == ["loop": "3", "two-modes": "2", "end": "-5", "main": "4"])
  }

  @Test(arguments: ["current", "main"], 0..<4)
  func `a program is told which descriptors a loop needed, and what the limit is`(_ kind: String, _ left: Int) {
    let result = Probe.end(["starve", kind, "\(left)"])
    let isEnough = left >= (kind == "main" ? 4 : 3)
    #expect((result.status == 0) == isEnough)
    if isEnough { return }
    // By a signal, and not by libevent's exit(1).
    #expect(result.status != 1)
    let need = left < 3 ? "A loop needs an epoll set" : "The main loop needs the main dispatch queue's eventfd"
    #expect(result.output.contains("\(need), and it could not be made: errno 24 (too many open files in this process)"))
    #expect(result.output.contains("The process may have 256 descriptors"))
  }

  @Test(arguments: 0..<4)
  func `a thread that cannot have a loop says so, typed, and keeps nothing`(_ left: Int) {
    let result = Probe.end(["starve", "thread", "\(left)"])
    let error =
      "error a loop needs three file descriptors, and could not have them: errno 24 (too many open files in this process)"
    #expect(result.output == (left < 3 ? "\(error)\nafter \(left)\n" : "answer 7\nleft 0\nafter 3\n"))
  }

  @Test(arguments: 0..<4)
  func `a further mode's first run outlives a shortage, loses nothing, and says so`(_ left: Int) {
    let result = Probe.end(["starve", "modes", "\(left)"])
    #expect(result.status == 0)
    #expect(result.output.contains("trace 01230123012320\n"))
    #expect(result.output.contains("post-in-default stopped\npost-in-m stopped\n"))
    let complaints = result.output.split(separator: "\n").filter { $0.hasPrefix("Rondo: ") }
    #expect(complaints.count == (left < 3 ? 1 : 0))
    #expect(complaints.allSatisfy { $0.contains("A mode of a loop needs an epoll set, and it could not be made") })
  }

  @Test func `a mode that shared has an epoll set of its own when there is one again`() {
    let result = Probe.end(["starve", "recover", "0"])
    #expect(result.status == 0)
    #expect(result.output.contains("trace dmdmdm\nleft 3\n"))
  }
}
