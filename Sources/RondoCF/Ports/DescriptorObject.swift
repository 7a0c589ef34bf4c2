import Glibc
import Rondo
import RondoSockets
import Synchronization

/// A CFSocket or a CFFileDescriptor: a descriptor, and what is told of it.
@safe class DescriptorObject: CFObject, @unchecked Sendable {
  /// *constant*
  final let descriptor: CInt
  private let state: Guarded<State>

  private struct State {
    /// Nil once the object is invalid.
    var info: Info?
    var flags: UInt
    /// What is told at present.
    var enabled: UInt
    /// Kept by its users and the loop that it is in.
    weak var source: DescriptorRunLoopSource?
    /// Nil once the object is invalid.
    var keeper: Keeper?
    var isEnded = false
  }

  /// The flag that has the descriptor closed.
  static let closes: UInt = 128

  init(_ descriptor: CInt, _ info: Info, flags: UInt, enabled: UInt) {
    self.descriptor = descriptor
    state = Guarded(State(info: info, flags: flags, enabled: enabled, keeper: Keeper(descriptor)))
  }

  /// Closes the descriptor when neither the object nor a loop that watches it needs it: before, its number could be
  /// another file's.
  private final class Keeper: Sendable {
    private let descriptor: CInt
    let closes = Atomic<Bool>(false)

    init(_ descriptor: CInt) {
      self.descriptor = descriptor
    }

    deinit {
      if closes.load(ordering: .relaxed) { close(descriptor) }
    }
  }

  final var isValid: Bool { state.withLock { !$0.isEnded } }
  final var info: Info? { state.withLock { $0.info } }

  final var flags: UInt {
    get { state.withLock { $0.flags } }
    set { state.withLock { $0.flags = newValue } }
  }

  /// What of the readiness a loop shall wait for. It may ask the kernel.
  func interest(_ enabled: UInt) -> Loop.DescriptorSource.Readiness { [] }

  /// The loop's thread. Calls out.
  func tell(_ readiness: Loop.DescriptorSource.Readiness) {}

  /// The object is invalid. Calls out.
  func ended() {}

  // MARK: - What is told

  final func enable(_ types: UInt) { change { $0 | types } }
  final func disable(_ types: UInt) { change { $0 & ~types } }

  private func change(_ change: (UInt) -> UInt) {
    state.withLock { state in state.enabled = change(state.enabled) }
    update()
  }

  /// Has the loop wait for what is told at present.
  final func update() {
    let (source, enabled) = state.withLock { ($0.source, $0.enabled) }
    source?.item.enabled = interest(enabled)
  }

  /// Which of these are to be told now. Those are not told again, unless `repeating` has them.
  final func take(_ told: UInt, repeating: UInt) -> UInt {
    let taken = state.withLock { state in
      let taken = state.isEnded ? 0 : state.enabled & told
      state.enabled &= ~(taken & ~repeating)
      return taken
    }
    if taken & ~repeating != 0 { update() }
    return taken
  }

  /// The one source of the object.
  final func source(order: Int) -> DescriptorRunLoopSource? {
    guard isValid else { return nil }
    if let found = state.withLock({ $0.source }), found.isValid { return found }
    let link = Link(self)
    let (keeper, enabled) = state.withLock { ($0.keeper, $0.enabled) }
    do {
      let item = try Loop.DescriptorSource(descriptor, for: interest(enabled), order: order) { _, readiness in
        withExtendedLifetime(keeper) { link.object?.tell(readiness) }
      }
      let source = DescriptorRunLoopSource(order: order, item, of: self)
      state.withLock { $0.source = source }
      return source
    } catch {
      warn("a run loop source for descriptor \(descriptor) is not made: \(error)")
      return nil
    }
  }

  /// What the item goes through, or it would keep the object.
  private final class Link: @unchecked Sendable {
    /// *constant*
    weak var object: DescriptorObject?

    init(_ object: DescriptorObject) { self.object = object }
  }

  // MARK: - The end

  /// Calls out.
  final func invalidate() {
    let ended = state.withLock { state -> (Info?, Keeper?, DescriptorRunLoopSource?)? in
      if state.isEnded { return nil }
      state.isEnded = true
      state.keeper?.closes.store(state.flags & Self.closes != 0, ordering: .relaxed)
      return (state.info.take(), state.keeper.take(), state.source)
    }
    guard let (info, keeper, source) = ended else { return }
    self.ended()
    source?.invalidate()
    // Closed here, unless a loop has yet to let go.
    _ = keeper
    info?.end()
  }
}

/// The source by which a loop tells of a descriptor.
final class DescriptorRunLoopSource: SourceObject, @unchecked Sendable {
  /// *constant*
  let item: Loop.DescriptorSource
  /// *constant*
  private let owner: DescriptorObject

  init(order: Int, _ item: Loop.DescriptorSource, of owner: DescriptorObject) {
    self.item = item
    self.owner = owner
    super.init(order: order)
  }

  override var about: String { "order = \(order), context = \(owner.text)" }
  override func isMember(of loop: Loop) -> Bool { loop.holds(item) }
  override func endItem() { item.invalidate() }
  override func remove(from loop: Loop, _ mode: Loop.Mode) { loop.remove(item, from: mode) }
  override func contains(in loop: Loop, _ mode: Loop.Mode) -> Bool { loop.contains(item, in: mode) }

  override func add(to loop: Loop, _ mode: Loop.Mode) {
    owner.update()
    loop.add(item, to: mode)
  }
}
