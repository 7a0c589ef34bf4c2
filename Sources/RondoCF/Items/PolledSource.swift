internal import CRondoCFPointers
import Rondo
import RondoSockets

/// A source of version 1: it performs while its descriptor is readable.
@safe final class PolledSource: ContextSource, @unchecked Sendable {
  /// *constant* As it was given.
  private let context: CFRunLoopSourceContext1
  /// *its own lock* What stands in each loop for it.
  private let seats = Guarded<[ObjectIdentifier: Seat]>([:])

  private struct Seat {
    let loop: Loop
    let item: Loop.DescriptorSource
  }

  init(order: Int, _ context: CFRunLoopSourceContext1) {
    unsafe self.context = context
    let info = unsafe Info(context.info, context.retain, context.release, context.copyDescription)
    let code = unsafe unsafeBitCast(context.perform, to: UInt.self)
    unsafe super.init(order: order, info, context.equal, context.hash, code: code)
  }

  deinit {
    invalidate()
  }

  override func write(_ context: UnsafeMutablePointer<CFRunLoopSourceContext>) {
    var own = unsafe self.context
    unsafe own.info = info.pointer
    unsafe UnsafeMutableRawPointer(context).storeBytes(of: own, as: CFRunLoopSourceContext1.self)
  }

  // MARK: - Membership

  private func item(in loop: Loop) -> Loop.DescriptorSource? { seats.withLock { $0[ObjectIdentifier(loop)]?.item } }

  override func isMember(of loop: Loop) -> Bool {
    item(in: loop).map { loop.holds($0) } ?? false
  }

  override func letGo(of loop: Loop) {
    guard let item = item(in: loop), !loop.holds(item) else { return }
    seats.withLock { $0[ObjectIdentifier(loop)] = nil }
    item.invalidate()
  }

  override func endItem() {
    let seats = seats.withLock { seats in
      defer { seats = [:] }
      return seats
    }
    for seat in seats.values { seat.item.invalidate() }
  }

  override func add(to loop: Loop, _ mode: Loop.Mode) {
    guard let item = item(in: loop) ?? makeItem(in: loop) else { return }
    loop.add(item, to: mode)
  }

  override func remove(from loop: Loop, _ mode: Loop.Mode) {
    if let item = item(in: loop) { loop.remove(item, from: mode) }
  }

  override func contains(in loop: Loop, _ mode: Loop.Mode) -> Bool {
    item(in: loop).map { loop.contains($0, in: mode) } ?? false
  }

  /// Calls out, for the descriptor.
  private func makeItem(in loop: Loop) -> Loop.DescriptorSource? {
    guard let port = unsafe context.getPort?(info.pointer) else { return nil }
    let link = Link(self)
    let item: Loop.DescriptorSource
    do {
      item = try Loop.DescriptorSource(port, for: .read, order: order) { source, _ in
        rondo_cf_read_counter(source.descriptor)
        link.source?.perform()
      }
    } catch {
      warn("CFRunLoopAddSource: descriptor \(port) of a source of version 1 cannot be watched: \(error)")
      return nil
    }
    item.label = Label(code: code)
    return seats.withLock { seats in
      if let other = seats[ObjectIdentifier(loop)] { return other.item }
      seats[ObjectIdentifier(loop)] = Seat(loop: loop, item: item)
      return item
    }
  }

  /// What an item goes through, or it would keep the source.
  private final class Link: @unchecked Sendable {
    /// *constant*
    weak var source: PolledSource?

    init(_ source: PolledSource) { self.source = source }
  }

  /// The loop's thread. Calls out.
  private func perform() {
    unsafe context.perform?(info.pointer)
  }
}
