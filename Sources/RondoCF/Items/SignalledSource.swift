internal import CRondoCFPointers
import Rondo

/// A source of version 0.
@safe final class SignalledSource: ContextSource, @unchecked Sendable {
  /// *constant* As it was given.
  private let context: CFRunLoopSourceContext
  /// *constant*
  private let item: Loop.Source

  init(order: Int, _ context: CFRunLoopSourceContext) {
    unsafe self.context = context
    let link = Link()
    item = Loop.Source(
      order: order,
      schedule: { loop, mode in link.source?.scheduled(in: loop, mode) },
      cancel: { loop, mode in link.source?.cancelled(in: loop, mode) },
      perform: { link.source?.perform() })
    let code = unsafe unsafeBitCast(context.perform, to: UInt.self)
    item.label = Label(code: code)
    let info = unsafe Info(context.info, context.retain, context.release, context.copyDescription)
    unsafe super.init(order: order, info, context.equal, context.hash, code: code)
    link.source = self
  }

  /// What the item goes through, or it would keep the source.
  private final class Link: @unchecked Sendable {
    /// *constant* once set, before the item is in a loop.
    weak var source: SignalledSource?
  }

  deinit {
    invalidate()
  }

  override func write(_ context: UnsafeMutablePointer<CFRunLoopSourceContext>) {
    unsafe context.pointee = self.context
    unsafe context.pointee.info = info.pointer
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
}
