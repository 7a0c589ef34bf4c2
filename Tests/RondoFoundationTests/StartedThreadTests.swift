// As with Foundation alone: without it, Thread has no subclasses.
import CoreFoundation
import Rondo
import RondoFoundation
import RondoTestSupport
import Testing

/// What is performed on a thread between its start and the moment it asks for its run loop.
@Suite(.offThePool) struct StartedThreadTests {
  /// A thread that asks for its run loop when it is let, and runs it until it has noted so many words.
  private final class Permanent {
    let gate = DispatchSemaphore(value: 0)
    let notes = Notes()
    let thread: Thread

    init(until count: Int, in mode: RunLoop.Mode = .default) {
      thread = Thread { [gate, notes] in
        gate.wait()
        RunLoop.current.add(RunLoop.Source {}, forMode: mode)
        while notes.count < count { RunLoop.current.run(mode: mode, before: .distantFuture) }
        notes.note("ended")
      }
    }

    func waitForEnd() {
      while !notes.text.hasSuffix("ended") { Thread.sleep(forTimeInterval: 0.0001) }
    }
  }

  @Test func `what comes before a thread asks for its run loop is kept and done in order`() throws {
    let permanent = Permanent(until: 3)
    let speaker = Speaker(permanent.notes)
    permanent.thread.start()
    for word in ["a", "b", "c"] {
      try speaker.perform(Speaker.say, on: permanent.thread, with: word, waitUntilDone: false)
    }
    #expect(permanent.notes.text == "")
    permanent.gate.signal()
    permanent.waitForEnd()
    #expect(permanent.notes.text == "a b c ended")
  }

  @Test func `it is done in one of its modes alone`() throws {
    let permanent = Permanent(until: 1, in: .tracking)
    let speaker = Speaker(permanent.notes)
    permanent.thread.start()
    try speaker.perform(
      Speaker.say, on: permanent.thread, with: "default", waitUntilDone: false, modes: [.default])
    try speaker.perform(
      Speaker.say, on: permanent.thread, with: "tracking", waitUntilDone: false, modes: [.tracking])
    permanent.gate.signal()
    permanent.waitForEnd()
    #expect(permanent.notes.text == "tracking ended")
  }

  @Test func `waiting for a thread that has just been started returns when it is done`() throws {
    let permanent = Permanent(until: 2)
    let speaker = Speaker(permanent.notes)
    permanent.thread.start()
    try speaker.perform(Speaker.say, on: permanent.thread, with: "first", waitUntilDone: false)
    permanent.gate.signal()
    try speaker.perform(Speaker.say, on: permanent.thread, with: "second", waitUntilDone: true)
    #expect(permanent.notes.text.hasPrefix("first second"))
    permanent.waitForEnd()
  }

  @Test func `a thread that ends without having asked gives up what was kept, and who waits hears it`() throws {
    let (gate, notes, deaths) = (DispatchSemaphore(value: 0), Notes(), Tally())
    nonisolated(unsafe) let thread = Thread { gate.wait() }
    unsafe thread.start()
    try unsafe Speaker(notes).perform(Speaker.hold, on: thread, with: Witness(deaths), waitUntilDone: false)
    #expect(deaths.count == 0)
    let caller = try LoopThread()
    let asked = Tally()
    caller.execute {
      asked.add()
      do {
        try unsafe Speaker(notes).perform(Speaker.say, on: thread, with: "never", waitUntilDone: true)
      } catch {
        notes.note("\(error)")
      }
    }
    while asked.count == 0 { Thread.sleep(forTimeInterval: 0.0001) }
    gate.signal()
    caller.stop()
    #expect(notes.text == PerformError.noRunLoop.description)
    while deaths.count == 0 { Thread.sleep(forTimeInterval: 0.0001) }
  }

  @Test func `a thread that asks for its run loop and never runs it gives up what was kept when it ends`() throws {
    let (gate, notes) = (DispatchSemaphore(value: 0), Notes())
    let thread = Thread {
      gate.wait()
      _ = RunLoop.current
    }
    thread.start()
    let opener = Thread { gate.signal() }
    #expect(throws: PerformError.self) {
      opener.start()
      try Speaker(notes).perform(Speaker.say, on: thread, with: "never", waitUntilDone: true)
    }
    #expect(notes.text == "")
  }

  @Test func `a thread that has ended, or was cancelled before its start, is an error`() throws {
    let speaker = Speaker(Notes())
    let ended = Thread {}
    ended.start()
    while !ended.isFinished { Thread.sleep(forTimeInterval: 0.0001) }
    let cancelled = Thread {}
    cancelled.cancel()
    cancelled.start()
    for thread in [ended, cancelled] {
      #expect(throws: PerformError.noRunLoop) {
        try speaker.perform(Speaker.say, on: thread, with: "never", waitUntilDone: true)
      }
    }
  }

  @Test func `of a subclass it is known as well that it is not started`() {
    final class Worker: Thread { let number = 1 }
    #expect(throws: PerformError.noRunLoop) {
      try Speaker(Notes()).perform(Speaker.say, on: Worker(), with: "never", waitUntilDone: true)
    }
  }

  @Test func `a thread that Foundation did not start is an error until it has asked`() throws {
    let (loopThread, speaker) = (try LoopThread(), Speaker(Notes()))
    let thread = try loopThread.sync { Thread.current }
    #expect(throws: PerformError.noRunLoop) {
      try speaker.perform(Speaker.say, on: thread, with: "never", waitUntilDone: true)
    }
    try loopThread.sync { _ = RunLoop.current }
    try speaker.perform(Speaker.say, on: thread, with: "said", waitUntilDone: true)
    loopThread.stop()
    #expect(speaker.notes.text == "said")
  }

  @Test func `of three requests to each of a thousand threads none is lost, and each thread's are in order`() throws {
    for _ in 0..<40 {
      let permanents = (0..<25).map { _ in Permanent(until: 3) }
      for permanent in permanents {
        let speaker = Speaker(permanent.notes)
        permanent.gate.signal()
        permanent.thread.start()
        for word in ["a", "b", "c"] {
          try speaker.perform(Speaker.say, on: permanent.thread, with: word, waitUntilDone: false)
        }
      }
      for permanent in permanents {
        permanent.waitForEnd()
        #expect(permanent.notes.text == "a b c ended")
      }
    }
  }

  @Test func `none overtakes another while the thread asks for its run loop`() throws {
    for _ in 0..<50 {
      let permanent = Permanent(until: 100)
      let speaker = Speaker(permanent.notes)
      permanent.thread.start()
      for number in 0..<100 {
        if number == 10 { permanent.gate.signal() }
        try speaker.perform(Speaker.say, on: permanent.thread, with: "\(number)", waitUntilDone: false)
      }
      permanent.waitForEnd()
      #expect(permanent.notes.text == ((0..<100).map(String.init) + ["ended"]).joined(separator: " "))
    }
  }
}

private final class Speaker: NSObject, Sendable {
  let notes: Notes
  init(_ notes: Notes) { self.notes = notes }
  func say(_ word: String) { notes.note(word) }
  func hold(_ witness: Witness) { notes.note("held") }
}
