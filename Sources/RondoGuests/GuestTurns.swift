internal import Rondo

/// The items that serve a `Loop.GuestLoop`, and what they know of it. *loop thread*
///
/// They refer to it, and it to them, until they are invalid: by `invalidate()`, or by the end of loop or descriptor.
@safe final class GuestTurns: ItemDelegate, @unchecked Sendable {
  // Unchecked because of what only the loop's thread touches, which alone may use a guest.

  /// *until released* Calls out.
  @safe @exclusivity(unchecked) private var wait: (() -> Loop.GuestLoop.Wait)?
  /// *until released* Calls out.
  @safe @exclusivity(unchecked) private var dispatch: (() -> Void)?
  /// *constant*
  private let isReentrant: Bool
  /// *constant* How its descriptor has to be ready.
  private let readiness: Loop.DescriptorSource.Readiness
  /// *constant*
  private let inquiry = Inquiry()
  /// *constant* once made. When it is invalid, so is the guest.
  @safe @exclusivity(unchecked) private(set) var source: Loop.DescriptorSource!
  /// *constant* once made.
  @safe @exclusivity(unchecked) private var observer: Loop.Observer!
  /// How many of its dispatches are under way, one nested in the other.
  @safe @exclusivity(unchecked) private var depth = 0
  @safe @exclusivity(unchecked) private var isAsking = false
  /// One for each mode the guest was put into: they fire when it has waited for as long as it said.
  @safe @exclusivity(unchecked) private var timeouts: [(mode: Loop.Mode, timeout: Loop.Timeout)] = []
  /// What they are armed for.
  @safe @exclusivity(unchecked) private var date: Instant?

  /// A date that comes out this much later than the one before is most likely the same one: timeouts are rounded,
  /// to milliseconds by GLib and libuv.
  private static let rounding: Int64 = 1_000_000
  /// The longest time that it waits, 73 years: sums of it do not overflow.
  private static let longest: Int64 = .max / 4

  init(
    _ descriptor: CInt, _ readiness: Loop.DescriptorSource.Readiness, _ order: Int, isReentrant: Bool,
    _ wait: @escaping () -> Loop.GuestLoop.Wait, _ dispatch: @escaping () -> Void
  ) throws(Loop.DescriptorError) {
    self.wait = wait
    self.dispatch = dispatch
    self.isReentrant = isReentrant
    self.readiness = readiness
    let source = try DelegatingDescriptorSource(descriptor, for: readiness, order: order) { [self] _, _ in serve() }
    self.source = source
    observer = inquiry.makeObserver { [self] in ask() }
    source.delegate = self
  }

  func enter(_ loop: Loop, _ mode: Loop.Mode) -> Bool {
    guard loop.add(source, to: mode) else { return false }
    loop.add(observer, to: mode)
    inquiry.loop = loop
    if !timeouts.contains(where: { $0.mode == mode }) {
      timeouts.append((mode, makeTimeout(loop, mode)))
      // Asked again, the guest has all of them armed.
      date = nil
    }
    return true
  }

  private func makeTimeout(_ loop: Loop, _ mode: Loop.Mode) -> Loop.Timeout {
    loop.makeTimeout(in: mode) { [self] in timeIsOver() }
  }

  func exit(_ mode: Loop.Mode) {
    guard let loop = source.home else { return }
    loop.remove(source, from: mode)
    loop.remove(observer, from: mode)
    // Leaving the common modes means leaving any of them that it was put into by name as well.
    timeouts.removeAll { entry in !loop.contains(source, in: entry.mode) && loop.discard(entry.timeout) }
  }

  /// The last reference to the guest is gone: if no loop has its items, none ever will.
  func invalidateIfHomeless() {
    if !(source.home?.holds(source) ?? false) { source.invalidate() }
  }

  /// False in a forked child, where the parent's guest stays as it is. On another thread than the loop's it traps.
  var mayEnd: Bool {
    guard let loop = source.home else { return true }
    guard loop.isOfThisProcess else { return false }
    require(
      loop.isCurrent,
      "This guest's loop belongs to \(loop.threadDescription), and so does the guest. Use loop.perform { }.")
    return true
  }

  // MARK: - What it waits for

  /// Calls out.
  private func ask() {
    guard source.isValid, !isAsking, depth == 0 || isReentrant else { return }
    isAsking = true
    let answer = wait!()
    isAsking = false
    guard source.isValid else { return letGo() }
    if answer == .nothing { source.disable(readiness) } else { source.enable(readiness) }
    guard let loop = inquiry.loop else { return }
    guard case .atMost(let time) = answer else {
      if date != nil { for (_, timeout) in timeouts { loop.disarm(timeout) } }
      date = nil
      return
    }
    arm(loop, after: time)
  }

  /// Leaves a date alone that is right already, or early by what is rounded: then the guest is asked once more.
  private func arm(_ loop: Loop, after time: Duration) {
    // The guest has read a clock later than the loop.
    let now = loop.readClock()
    let new = now.advanced(by: max(0, min(time.saturatingNanoseconds, Self.longest)))
    if let date, date > now, date <= new, new < date.advanced(by: Self.rounding) { return }
    date = new
    for (_, timeout) in timeouts { loop.arm(timeout, at: new.suspending) }
  }

  // MARK: - Serving it

  /// Calls out.
  private func timeIsOver() {
    date = nil
    if isReentrant, let loop = inquiry.loop {
      // A run nested in this callout calls others, and this one not before it has returned.
      for index in timeouts.indices {
        loop.discard(timeouts[index].timeout)
        timeouts[index].timeout = makeTimeout(loop, timeouts[index].mode)
      }
    }
    serve()
  }

  /// Calls out.
  private func serve() {
    guard source.isValid else { return }
    if depth > 0 && !isReentrant { return source.disable(readiness) }
    depth += 1
    dispatch!()
    depth -= 1
    guard source.isValid else { return letGo() }
    // A run nested in it may have found it ready, and it has not been asked since.
    if depth == 0 { source.enable(readiness) }
  }

  private func end() {
    observer.invalidate()
    // Without them it is in no loop, and its last one may be gone.
    for (_, timeout) in timeouts { inquiry.loop?.discard(timeout) }
    timeouts = []
    letGo()
  }

  private func letGo() {
    guard depth == 0, !isAsking else { return }
    let closures = (wait.take(), dispatch.take())
    _ = closures
  }

  /// The caller has ended the source, or the loop because the descriptor is closed: that ends the other items.
  func itemWasInvalidated(_ item: Loop.Item) { end() }
}
