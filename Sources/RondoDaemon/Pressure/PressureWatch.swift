import CLinux
import CRondoDaemon
import Glibc

/// An open file of pressure that has its trigger, and what tells of it; closed with the last reference.
final class PressureWatch: Sendable {
  /// *constant*
  let trigger: PressureSource.Trigger
  /// *constant* The kernel forgets the trigger when it is closed.
  private let file: CInt
  /// *constant* What is watched: a set around the kernel's file, which is readable always; else the file itself.
  let descriptor: CInt
  /// *constant* Whether the file is the kernel's. A pipe may stand in for it.
  let isKernel: Bool

  init(_ trigger: PressureSource.Trigger) throws(PressureError) {
    guard !trigger.path.utf8.contains(0) else { throw .notPressure(trigger.path) }
    self.trigger = trigger
    var kind = RONDO_PRESSURE_OTHER
    let file = unsafe rondo_pressure_open(trigger.path, &kind)
    guard file >= 0 else { throw PressureError(trigger.path, -file) }
    self.file = file
    isKernel = kind == RONDO_PRESSURE_KERNEL
    do throws(PressureError) {
      // What epoll refuses is a plain file, which must not be written into.
      guard kind != RONDO_PRESSURE_OTHER, rondo_is_refused(file) != EPERM else { throw .notPressure(trigger.path) }
      try Self.arm(file, trigger)
      guard kind == RONDO_PRESSURE_KERNEL else {
        descriptor = file
        return
      }
      let set = rondo_pressure_set(file)
      guard set >= 0 else { throw PressureError(trigger.path, -set) }
      descriptor = set
    } catch {
      close(file)
      throw error
    }
  }

  deinit {
    if descriptor != file { close(descriptor) }
    close(file)
  }

  private static func arm(_ file: CInt, _ trigger: PressureSource.Trigger) throws(PressureError) {
    if trigger.text.isEmpty { return }
    let result = unsafe rondo_pressure_arm(file, trigger.text, trigger.text.count)
    guard result < 0 else { return }
    if result == -EINVAL, let window = trigger.window, window != .seconds(window.components.seconds / 2 * 2) {
      throw .windowNotPermitted(window)
    }
    throw PressureError(trigger.path, -result)
  }

  /// What it was readable for; nil for nothing.
  func take() -> PressureSource.Event? {
    if isKernel { return rondo_pressure_take(descriptor) != 0 ? .gone : .stalled(pressure) }
    var bytes = [UInt8](repeating: 0, count: 4_096)
    return unsafe read(file, &bytes, bytes.count) > 0 ? .stalled(nil) : nil
  }

  /// What is true now.
  var pressure: Pressure? {
    guard isKernel else { return nil }
    var room = [CChar](repeating: 0, count: 1_024)
    let count = unsafe rondo_pressure_text(file, &room, room.count)
    guard count > 0 else { return nil }
    return Pressure(String(decoding: room.prefix(count).map(UInt8.init(bitPattern:)), as: UTF8.self))
  }
}
