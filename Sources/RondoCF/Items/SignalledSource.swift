internal import CRondoCFPointers
import Rondo

/// A source of version 0.
@safe final class SignalledSource: SourceObject, @unchecked Sendable {
  /// *constant* As it was given, but with the info that its retain has returned.
  let context: CFRunLoopSourceContext
  /// *constant*
  private let info: Info
  /// *constant*
  let item: Loop.Source
  private let hash = Guarded<UInt?>(nil)

  init(order: Int, _ context: CFRunLoopSourceContext) {
    unsafe info = Info(context.info, context.retain, context.release, context.copyDescription)
    unsafe self.context = context
    let link = Link()
    item = Loop.Source(
      order: order,
      schedule: { loop, mode in link.source?.scheduled(in: loop, mode) },
      cancel: { loop, mode in link.source?.cancelled(in: loop, mode) },
      perform: { link.source?.perform() })
    unsafe item.label = Label(code: unsafeBitCast(context.perform, to: UInt.self))
    super.init(order: order)
    link.source = self
  }

  /// What the item goes through, or it would keep the source.
  private final class Link: @unchecked Sendable {
    /// *constant* once set, before the item is in a loop.
    weak var source: SignalledSource?
  }

  deinit {
    invalidate()
    // Its context is needed as long as a caller can compare it with another source.
    info.end()
  }

  /// What its functions are given.
  var pointerOfInfo: UnsafeMutableRawPointer? { unsafe info.pointer }

  override var text: String {
    "\(head("CFRunLoopSource")){valid = \(isValid ? "Yes" : "No"), order = \(order), context = \(info.text ?? "-")}"
  }

  // MARK: - Callouts

  private typealias ScheduleCallBack =
    @convention(c) (
      UnsafeMutableRawPointer?, UnsafeMutableRawPointer?, UnsafeRawPointer?
    ) -> Void

  private func scheduled(in loop: Loop, _ mode: Loop.Mode) {
    unsafe tell(context.schedule, loop, mode)
  }

  private func cancelled(in loop: Loop, _ mode: Loop.Mode) {
    unsafe tell(context.cancel, loop, mode)
  }

  private func tell(_ function: ScheduleCallBack?, _ loop: Loop, _ mode: Loop.Mode) {
    guard let function = unsafe function else { return }
    let (runLoop, name) = (RunLoopObject.of(loop), StringObject(mode.rawValue))
    withExtendedLifetime((runLoop, name)) { unsafe function(info.pointer, runLoop.pointer, name.pointer) }
  }

  private func perform() {
    unsafe context.perform?(info.pointer)
  }

  // MARK: - Membership

  override func isMember(of loop: Loop) -> Bool { loop.holds(item) }
  override func endItem() { item.invalidate() }
  override func signal() { item.signal(waking: false) }

  override func add(to loop: Loop, _ mode: Loop.Mode) { loop.add(item, to: mode) }
  override func remove(from loop: Loop, _ mode: Loop.Mode) { loop.remove(item, from: mode) }
  override func contains(in loop: Loop, _ mode: Loop.Mode) -> Bool { loop.contains(item, in: mode) }

  // MARK: - Equality

  override var hashCode: UInt { contextHash }

  override var contextHash: UInt {
    if let known = hash.withLock({ $0 }) { return known }
    let asked = unsafe context.hash.map { unsafe $0(info.pointer) } ?? UInt(bitPattern: info.pointer)
    hash.withLock { $0 = asked }
    return asked
  }

  /// Whether validity, order, functions and, as `equal` says, infos are the same.
  override func isEqual(to other: CFObject) -> Bool {
    if self === other { return true }
    guard let other = other as? SignalledSource, isValid == other.isValid, order == other.order else { return false }
    guard unsafe unsafeBitCast(context.hash, to: UInt.self) == unsafeBitCast(other.context.hash, to: UInt.self),
      unsafe unsafeBitCast(context.equal, to: UInt.self) == unsafeBitCast(other.context.equal, to: UInt.self),
      unsafe unsafeBitCast(context.perform, to: UInt.self) == unsafeBitCast(other.context.perform, to: UInt.self)
    else { return false }
    if let equal = unsafe context.equal { return unsafe equal(info.pointer, other.info.pointer) }
    return unsafe info.pointer == other.info.pointer
  }
}
