internal import CRondoInspect
import Rondo

/// The records of this process's loops.
enum Recorders {
  private struct Entry {
    weak var loop: Loop?
    let recorder: Recorder
  }

  private static let entries = PerProcess<[Entry]>([])

  /// The record of a loop, made on first use. Any thread.
  static func recorder(of loop: Loop) -> Recorder {
    if let recorder = loop.delegate as? Recorder { return recorder }
    let made = Recorder(of: loop)
    guard let recorder = loop.attach(made) as? Recorder else {
      fatalError("A loop has one delegate, and has another already.")
    }
    guard recorder === made else { return recorder }
    recorder.describe(loop)
    // Those of loops that are gone die outside of the lock: a record's end invalidates items.
    var gone: [Entry] = []
    entries.withLock { entries in
      entries = entries.filter { entry in
        if entry.loop == nil { gone.append(entry) }
        return entry.loop != nil
      }
      entries.append(Entry(loop: loop, recorder: recorder))
    }
    return recorder
  }

  /// Every loop that has a record, in order of appearance.
  static var all: [(loop: Loop, recorder: Recorder)] {
    entries.withLock { entries in entries.compactMap { entry in entry.loop.map { ($0, entry.recorder) } } }
  }
}
