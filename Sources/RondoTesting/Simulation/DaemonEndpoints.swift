internal import CLinux
internal import Glibc
internal import Rondo

/// What deliveries of a signal are received from, as a number of eight bytes.
final class SignalEndpoint: Endpoint {
  let signal: CInt
  private var count: UInt64 = 0
  /// Whether it counts.
  private(set) var isSubscribed = true

  init(of signal: CInt, on host: Host) {
    self.signal = signal
    super.init(on: host, family: -1)
    host.subscriptions.append(self)
  }

  override var readiness: Loop.DescriptorSource.Readiness { count > 0 ? .read : [] }

  func deliver() {
    count += 1
    hasChanged()
  }

  override func receive(_ room: UnsafeMutableRawBufferPointer) -> (Int, NetworkAddress?) {
    guard count > 0, room.count >= 8 else { return (-Int(EAGAIN), nil) }
    unsafe room.storeBytes(of: count, as: UInt64.self)
    count = 0
    return (8, nil)
  }

  override func shutDown(reading: Bool, writing: Bool) -> Int {
    host.subscriptions.removeAll { $0 === self }
    return 0
  }

  override func close() { _ = shutDown(reading: true, writing: true) }
}

/// A timer on the host's real time, or on its time since boot.
final class ClockEndpoint: Endpoint {
  private let isReal: Bool
  private var date: Int64 = 0
  private var isDue = false
  /// Whether the clock was set since the timer was armed last.
  private var wasSet = false
  private var armings = 0

  init(isReal: Bool, on host: Host) {
    self.isReal = isReal
    super.init(on: host, family: -1)
    if isReal { host.clockTimers.append(self) }
  }

  override var readiness: Loop.DescriptorSource.Readiness { isDue || wasSet ? .read : [] }

  private var now: Int64 { isReal ? host.realTimeNanoseconds : timeline.now.nanoseconds }

  override func arm(_ nanoseconds: Int64) -> Int {
    let wasSet = wasSet
    (date, isDue, self.wasSet) = (nanoseconds, false, false)
    wait()
    return wasSet ? -Int(ECANCELED) : 0
  }

  private func wait() {
    armings += 1
    let arming = armings
    guard date > 0, date < .max else { return }
    let left = Swift.max(0, date.subtractingReportingOverflow(now).partialValue)
    timeline.schedule(at: timeline.now.advanced(by: left), on: host.address) { [self] in
      guard arming == armings else { return }
      timeline.noteEvent(on: host.address) { "the date of a clock timer comes" }
      isDue = true
      hasChanged()
    }
  }

  /// The host's clock shows another time.
  func clockWasSet() {
    wasSet = true
    wait()
    hasChanged()
  }

  override func receive(_ room: UnsafeMutableRawBufferPointer) -> (Int, NetworkAddress?) {
    if wasSet {
      wasSet = false
      return (-Int(ECANCELED), nil)
    }
    guard isDue, room.count >= 8 else { return (-Int(EAGAIN), nil) }
    unsafe room.storeBytes(of: 1, as: UInt64.self)
    isDue = false
    return (8, nil)
  }

  override func close() {
    armings += 1
    host.clockTimers.removeAll { $0 === self }
  }
}

/// A descriptor of a child, readable when the child has ended.
final class ChildEndpoint: Endpoint {
  private let child: SimulatedChild

  init(of child: SimulatedChild, on host: Host) {
    self.child = child
    super.init(on: host, family: -1)
    child.watchers.append(self)
  }

  override var readiness: Loop.DescriptorSource.Readiness { child.end == nil ? [] : .read }

  override func look(reaps: Bool, _ told: UnsafeMutablePointer<CInt>) -> Int {
    if child.wasReaped { return -Int(ECHILD) }
    guard let end = child.end else { return 0 }
    unsafe told[0] = end.wasKilled ? 1 : 0
    unsafe told[1] = end.status
    if reaps { child.wasReaped = true }
    return 1
  }

  override func signal(_ signal: CInt) -> Int {
    if child.end != nil { return -Int(ESRCH) }
    child.receive(signal)
    return 0
  }

  override func close() { child.watchers.removeAll { $0 === self } }
}
