import Rondo

/// Asks loops what is in them, and waits for a while: a loop that is stuck does not answer. *watcher's thread*
@safe final class Inquiry: @unchecked Sendable {
  private var awaited = 0
  private var found: [ObjectIdentifier: Loop.Inventory] = [:]
  private var finish: (([ObjectIdentifier: Loop.Inventory]) -> Void)?
  private var timer: Loop.Timer?

  /// How long a loop may take to answer.
  private static let patience = Duration.milliseconds(200)

  /// - Parameter finish: Called once, with the inventories of the loops that have answered.
  init(finish: @escaping ([ObjectIdentifier: Loop.Inventory]) -> Void) {
    self.finish = finish
  }

  func begin(_ loops: [(loop: Loop, recorder: Recorder)], by watcher: Watcher) {
    for (loop, recorder) in loops {
      // A loop that was asked before and has not answered is not asked again.
      guard recorder.beginInquiry() else { continue }
      let number = ObjectIdentifier(loop)
      let modes = [.common] + (loop.currentMode.map { [$0] } ?? [])
      let isTaken = loop.perform(in: modes) { [self, weak loop] in
        recorder.endInquiry()
        let inventory = loop?.inventory
        watcher.perform { self.receive(inventory, of: number) }
      }
      if isTaken { awaited += 1 } else { recorder.endInquiry() }
    }
    guard awaited > 0 else { return complete() }
    let timer = Loop.Timer(after: Self.patience) { [self] _ in complete() }
    timer.name = "rondo-inspect's inquiry"
    self.timer = timer
    Loop.current.add(timer)
  }

  private func receive(_ inventory: Loop.Inventory?, of loop: ObjectIdentifier) {
    if let inventory { found[loop] = inventory }
    awaited -= 1
    if awaited == 0 { complete() }
  }

  private func complete() {
    guard let finish else { return }
    self.finish = nil
    timer?.invalidate()
    timer = nil
    finish(found)
  }
}
