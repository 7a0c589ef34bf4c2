import Rondo
import RondoFoundation

// Foundation's streams in Rondo's run loop.

/// Reads or writes three bytes at a time, and reports each event once.
private final class Peer: NSObject, StreamDelegate {
  private(set) var events: [String] = []
  private(set) var thread: Thread?
  /// How many bytes are still to be written.
  var left = 4
  var atEnd: () -> Void = {}

  func stream(_ stream: Stream, handle event: Stream.Event) {
    thread = .current
    switch event {
    case .openCompleted: events.append("open")
    case .hasBytesAvailable:
      var bytes = [UInt8](repeating: 0, count: 3)
      let count = (stream as! InputStream).read(&bytes, maxLength: 3)
      if count > 0 { events.append("read \(count)") }
    case .hasSpaceAvailable:
      guard left > 0 else { return end(stream) }
      left -= (stream as! OutputStream).write([1, 2], maxLength: 2)
      events.append("wrote")
    case .endEncountered:
      events.append("end")
      end(stream)
    default: events.append("event \(event.rawValue)")
    }
  }

  private func end(_ stream: Stream) {
    stream.close()
    atEnd()
  }
}

private func text(_ peer: Peer) -> String { peer.events.joined(separator: " ") }

/// What the delegates of all kinds of streams hear, in runs of Rondo's loop.
func serveStreams() {
  let file = FileManager.default.temporaryDirectory.appendingPathComponent("rondo-stream-\(UUID())").path
  defer { try? FileManager.default.removeItem(atPath: file) }
  let streams: [(String, Stream)] = [
    ("memory", OutputStream(toMemory: ())), ("file, out", OutputStream(toFileAtPath: file, append: false)!),
    ("data", InputStream(data: Data("hello".utf8))), ("file, in", InputStream(fileAtPath: file)!),
  ]
  for (name, stream) in streams {
    let peer = Peer()
    peer.atEnd = { RunLoop.current.stop() }
    stream.delegate = peer
    stream.schedule(in: .current, forMode: .default)
    stream.open()
    RunLoop.current.run(until: .distantFuture)
    print("\(name): \(text(peer)), on this thread \(peer.thread === Thread.current)")
  }
  print(RunLoop.current.foundationStatus)
}

/// A stream is in the modes in which it was scheduled, and in no other.
func scheduleStreamsInModes() {
  let peer = Peer()
  let stream = InputStream(data: Data("hello".utf8))
  stream.delegate = peer
  stream.schedule(in: RunLoop.current, forMode: .tracking)
  stream.schedule(in: RunLoop.current, forMode: .default)
  stream.remove(from: RunLoop.current, forMode: .default)
  stream.open()
  RunLoop.current.add(RunLoop.Source {}, forMode: .default)
  RunLoop.current.run(until: Date(timeIntervalSinceNow: 0.02))
  print("in the default mode: \(text(peer))")
  while peer.events.last != "end" { RunLoop.current.run(mode: .tracking, before: .distantFuture) }
  print("in the tracking mode: \(text(peer))")
}

/// Which streams keep a run going.
func endStreams() {
  func withStream(_ name: String, _ end: (InputStream) -> Void) {
    let peer = Peer()
    do {
      let stream = InputStream(data: Data("hi".utf8))
      stream.delegate = peer
      stream.schedule(in: RunLoop.current, forMode: .default)
      end(stream)
    }
    let isKept = RunLoop.current.run(mode: .default, before: .distantPast)
    print("\(name): \(text(peer)) \(isKept)")
  }
  withStream("removed") {
    $0.open()
    $0.remove(from: RunLoop.current, forMode: .default)
  }
  withStream("never opened, removed") { $0.remove(from: RunLoop.current, forMode: .default) }
  withStream("closed and removed") {
    $0.open()
    $0.close()
    $0.remove(from: RunLoop.current, forMode: .default)
  }
  withStream("closed") {
    $0.open()
    $0.close()
  }
  withStream("freed") { $0.open() }
}

/// A stream in an embedded run loop is served once the embedding has ended.
func scheduleStreamEmbedded() {
  let peer = Peer()
  let stream = InputStream(data: Data("hello".utf8))
  stream.delegate = peer
  RunLoop.current.add(RunLoop.Source {}, forMode: .default)
  let embedding = Loop.Embedding(of: RunLoop.current.getLoop())
  stream.schedule(in: RunLoop.current, forMode: .default)
  stream.open()
  for _ in 1...3 { _ = embedding.turn() }
  print("embedded, serving \(RunLoop.current.foundationStatus == .serving): \(text(peer))")
  embedding.end()
  peer.atEnd = { RunLoop.current.stop() }
  RunLoop.current.run(until: .distantFuture)
  print("\(RunLoop.current.foundationStatus): \(text(peer))")
}

/// Another thread schedules a stream in the main run loop, which has not been asked for Foundation's before.
func scheduleStreamOnMain() {
  let peer = Peer()
  peer.atEnd = { RunLoop.main.stop() }
  let input = Cell<(InputStream, Peer)>((InputStream(data: Data("hello".utf8)), peer))
  whenAsleep(RunLoop.main.getLoop()) {
    let (stream, peer) = input.value
    stream.delegate = peer
    stream.schedule(in: .main, forMode: .default)
    stream.open()
  }
  RunLoop.main.run(until: .distantFuture)
  print("\(text(peer)), on the main thread \(peer.thread === Thread.mainThread)")
}

/// A run loop that does not serve Foundation's does not serve streams; they wait until it does.
func deferStreams() {
  let peer = Peer()
  let stream = InputStream(data: Data("hello".utf8))
  stream.delegate = peer
  RunLoop.current.servesFoundation = false
  stream.schedule(in: RunLoop.current, forMode: .default)
  stream.open()
  RunLoop.current.add(RunLoop.Source {}, forMode: .default)
  RunLoop.current.run(until: Date(timeIntervalSinceNow: 0.02))
  print("\(RunLoop.current.foundationStatus): \(text(peer))")
  RunLoop.current.servesFoundation = true
  peer.atEnd = { RunLoop.current.stop() }
  RunLoop.current.run(until: .distantFuture)
  print("\(RunLoop.current.foundationStatus): \(text(peer))")
}
