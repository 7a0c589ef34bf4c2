import Glibc
import Rondo
import RondoTestSupport
import Synchronization

/// How often items are handed over. The environment's HAND_OVERS overrides it: `make tsan` passes items 100,000 times,
/// after 5,000 of everything, since the sanitizer makes each some twenty times as long.
enum HandOvers {
  static let count: Int = {
    if let asked = unsafe getenv("HAND_OVERS").flatMap({ unsafe Int(String(cString: $0)) }) { return asked }
    return isThreadSanitized ? 5_000 : stressCount(10_000)
  }()

  private static var isThreadSanitized: Bool {
    unsafe dlsym(nil, "__tsan_init") != nil
  }
}

/// Waits until the number is reached, and gives up when it has stood still for a minute: something was lost.
///
/// - Returns: Whether it was reached.
func reaches(_ number: SharedNumber, _ goal: Int) -> Bool {
  var last = number.value
  var deadline = SuspendingClock().now + .seconds(60)
  var looks = 0
  while true {
    let value = number.value
    if value >= goal { return true }
    looks += 1
    if looks % 100 == 0 { sched_yield() }
    guard looks % 10_000 == 0 else { continue }
    if value != last {
      last = value
      deadline = SuspendingClock().now + .seconds(60)
    } else if SuspendingClock().now > deadline {
      return false
    }
  }
}

/// Tries until `attempt` succeeds, and gives up after a minute of failures.
///
/// - Returns: Whether it succeeded.
func succeeds(_ attempt: () -> Bool) -> Bool {
  var tries = 0
  var deadline: SuspendingClock.Instant?
  while !attempt() {
    tries += 1
    if tries % 10 == 0 { sched_yield() }
    guard tries % 10_000 == 0 else { continue }
    let now = SuspendingClock().now
    if let deadline, now > deadline { return false }
    if deadline == nil { deadline = now + .seconds(60) }
  }
  return true
}

/// Whether a socket's other end is closed, so that this one, in which nothing else is left, reads an end of file.
///
/// It may take a moment: a child of another test, on its way from fork to exec, has a copy even of what closes on exec.
func isFarEndClosed(_ end: CInt) -> Bool {
  succeeds {
    var byte: UInt8 = 0
    return unsafe recv(end, &byte, 1, CInt(MSG_DONTWAIT)) == 0
  }
}

/// An item that counts its calls, and how to have it called once more. It can be in any of several loops.
final class Traveller: Sendable {
  let item: Loop.Item
  let calls: SharedNumber
  /// Has the item called once more by the loop it is in.
  let call: @Sendable (Loop) -> Void
  private let close: @Sendable () -> Void

  enum Kind: CaseIterable, Sendable {
    case timer, tolerantTimer, observer, source, levelDescriptor, edgeDescriptor
  }

  /// - Parameter then: What its callout does besides counting.
  init(_ kind: Kind, then more: @escaping @Sendable (Loop.Item) -> Void = { _ in }) {
    let calls = SharedNumber()
    self.calls = calls
    switch kind {
    case .timer, .tolerantTimer:
      let tolerance: Duration = kind == .timer ? .zero : .nanoseconds(100)
      // A new date begins a new grid: it fires once for each date that is set.
      let timer = Loop.Timer(every: .seconds(3_600), tolerance: tolerance) { tick in
        calls.add()
        more(tick.timer)
      }
      item = timer
      call = { _ in timer.setFireDate(after: .zero) }
      close = {}
    case .observer:
      let (item, wanted) = (LoopVariable<Loop.Observer?>(nil), SharedNumber())
      let observer = Loop.Observer(.beforeTimers) { _ in
        guard wanted.value > calls.value else { return }
        calls.add()
        if let item = item.value { more(item) }
      }
      item.value = observer
      self.item = observer
      call = { loop in
        wanted.add()
        loop.wakeUp()
      }
      close = { item.value = nil }
    case .source:
      let item = LoopVariable<Loop.Source?>(nil)
      let source = Loop.Source {
        calls.add()
        if let item = item.value { more(item) }
      }
      item.value = source
      self.item = source
      call = { _ in source.signal() }
      close = { item.value = nil }
    case .levelDescriptor, .edgeDescriptor:
      var ends: [CInt] = [0, 0]
      precondition(unsafe socketpair(AF_UNIX, CInt(SOCK_STREAM.rawValue), 0, &ends) == 0, "errno \(errno)")
      let (near, far) = (ends[0], ends[1])
      do {
        item = try Loop.DescriptorSource(near, for: .read, trigger: kind == .edgeDescriptor ? .edge : .level) {
          source, _ in
          var byte: UInt8 = 0
          guard unsafe recv(near, &byte, 1, CInt(MSG_DONTWAIT)) == 1 else { return }
          calls.add()
          more(source)
        }
      } catch {
        fatalError("\(error)")
      }
      call = { _ in
        let byte: [UInt8] = [1]
        precondition(unsafe write(far, byte, 1) == 1, "errno \(errno)")
      }
      close = {
        _ = Glibc.close(near)
        _ = Glibc.close(far)
      }
    }
  }

  func end() {
    item.invalidate()
    close()
  }
}
