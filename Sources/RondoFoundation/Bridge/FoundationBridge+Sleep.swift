import CLinux
import Rondo
import Synchronization

/// What Rondo asks before it sleeps, and its sleeps outside of Foundation's wait, while Foundation's mode has nothing.
/// *loop thread*
extension FoundationBridge {
  /// After a sleep in which Foundation's mode had something, that is not asked again for so many sleeps: to ask takes the
  /// port out, and a sleep in Foundation's wait puts it in. Chosen.
  private static let sleepsBetweenQuestions = 64

  func isPresent(in mode: Loop.Mode) -> Bool {
    // Around an enclosed run the thread's loop of Foundation's is the one that was found.
    (isEnclosed && isWanted.load(ordering: .relaxed) && !loop.isEmbedded || attach()) && join(mode) != nil
  }

  func isEmpty(_ mode: Loop.Mode) -> Bool {
    guard attach(), let foundation else { return true }
    let known = modes.first { $0.mode == mode }
    // The next sleep puts it in again, so that a turn that asks more than once pays once.
    known?.remove(from: foundation)
    known?.dropNews()
    return isFinished(foundation, known?.name ?? FoundationMode.name(of: mode))
  }

  func isFinished(_ loop: CFRunLoop, _ name: CFString) -> Bool {
    unsafe rondo_foundation_is_finished(
      Unmanaged.passUnretained(loop).toOpaque(), Unmanaged.passUnretained(name).toOpaque()) != 0
  }

  func enclose(_ run: () -> Void) -> Bool {
    guard loop.depth != turnDepth, attach(), let foundation else { return false }
    if host == nil, hasDescriptors(FoundationDoors.descriptorsOfMode) { host = FoundationHost(foundation) }
    return host?.enclose(loop.depth, run) ?? false
  }

  /// Whether the innermost run of Rondo's has a run of Foundation's right around it.
  var isEnclosed: Bool { host?.encloses(loop.depth) ?? false }

  func descriptor(of mode: Loop.Mode) -> CInt? {
    guard let foundation, isEnclosed, let known = modes.first(where: { $0.mode == mode }), known.portSet >= 0 else {
      return nil
    }
    if known.sleepsToQuestion > 0 {
      known.sleepsToQuestion -= 1
      return nil
    }
    known.remove(from: foundation)
    known.dropNews()
    let isVacant = isFinished(foundation, known.name)
    known.keep(in: foundation)
    if isVacant { return known.portSet }
    known.sleepsToQuestion = Self.sleepsBetweenQuestions
    return nil
  }
}
