import Foundation
import RondoTestSupport
import Testing

/// What SwiftConcurrency.md says of the compiler's messages: it prints them for the wrong snippets, and takes the cures.
@Suite(.offThePool) struct CompilerMessagesTests {
  @Test func `the article has its pairs`() throws {
    let lessons = try Article.lessons.get()
    #expect(lessons.count == 5)
    #expect(lessons.allSatisfy { !$0.message.isEmpty && !$0.wrong.isEmpty && !$0.cured.isEmpty })
  }

  @Test(arguments: 0..<5) func `the wrong snippet has the message, and the cured one none`(_ number: Int) throws {
    let lesson = try Article.lessons.get()[number]
    let wrong = try Compiler.compile(lesson.wrong)
    #expect(!wrong.isAccepted && wrong.text.contains("error: \(lesson.message)"), "\(wrong.text)")
    let cured = try Compiler.compile(lesson.cured)
    #expect(cured.isAccepted && cured.text == "", "\(cured.text)")
  }

  @Test(arguments: [
    ("let loop = Loop.current", "class property 'current'"),
    ("try LoopThread().sync {}", "instance method 'sync'"),
    ("try LoopThread().stop()", "instance method 'stop'"),
  ])
  func `other functions that block have a message like that of run`(_ call: String, _ subject: String) throws {
    let outcome = try Compiler.compile("func work() async throws {\n  \(call)\n}")
    #expect(outcome.text.contains("error: \(subject) is unavailable from asynchronous contexts"), "\(outcome.text)")
  }

  @Test func `a product that is not named has a module that is missing`() throws {
    let message = "missing required module 'CRondoDaemon'"
    #expect(try Article.text.get().contains("```text\n\(message)\n```"))
    let outcome = try Compiler.compile("let isNamed = false", without: "CRondoDaemon")
    #expect(!outcome.isAccepted && outcome.text.contains("error: \(message)"), "\(outcome.text)")
    for module in ["CLinux", "CLibevent"] {
      let outcome = try Compiler.compile("let isNamed = false", without: module)
      #expect(!outcome.isAccepted && outcome.text.contains("missing required module '\(module)'"), "\(outcome.text)")
    }
    #expect(try Compiler.compile("let isNamed = true").isAccepted)
  }
}

/// The messages of the article, each with its two snippets.
private enum Article {
  struct Lesson {
    let message: String
    let wrong: String
    let cured: String
  }

  static let text = Result {
    try String(
      contentsOf: Compiler.root.appending(path: "Sources/Rondo/Rondo.docc/SwiftConcurrency.md"), encoding: .utf8)
  }

  /// A message without a wrong snippet is no lesson: its cure is no code.
  static let lessons = Result {
    var lessons: [Lesson] = []
    var message = ""
    var wrong = ""
    let chapter = try text.get().components(separatedBy: "### The compiler's messages\n").last ?? ""
    for block in chapter.matches(of: /(?ms)^```([\w-]+)\n(.*?)^```$/) {
      switch block.1 {
      case "text": message = block.2.trimmingCharacters(in: .newlines)
      case "swift-wrong": wrong = String(block.2)
      default: lessons.append(Lesson(message: message, wrong: wrong, cured: String(block.2)))
      }
    }
    return lessons
  }
}
