internal import CRondoCFPointers
import Rondo

/// A CFFileDescriptor: each readiness is told once each time that it is enabled.
@safe final class FileDescriptorObject: DescriptorObject, @unchecked Sendable {
  private let callout: CFFileDescriptorCallBack

  /// The callback types, which have the values of the readiness.
  private static let read: UInt = 1
  private static let write: UInt = 2

  init(_ descriptor: CInt, closing: Bool, _ callout: CFFileDescriptorCallBack, _ info: Info) {
    unsafe self.callout = unsafe callout
    super.init(descriptor, info, flags: closing ? Self.closes : 0, enabled: 0)
  }

  deinit {
    invalidate()
  }

  override class var typeID: UInt { 46 }
  override var text: String {
    "\(head("CFFileDescriptor")){valid = \(isValid ? "Yes" : "No"), descriptor = \(descriptor)}"
  }

  override func interest(_ enabled: UInt) -> Loop.DescriptorSource.Readiness {
    var interest: Loop.DescriptorSource.Readiness = []
    if enabled & Self.read != 0 { interest.insert(.read) }
    if enabled & Self.write != 0 { interest.insert(.write) }
    return interest
  }

  override func tell(_ readiness: Loop.DescriptorSource.Readiness) {
    var types: UInt = 0
    // A reader or writer learns of the end by its next call.
    if !readiness.isDisjoint(with: [.read, .closed]) { types |= Self.read }
    if !readiness.isDisjoint(with: [.write, .closed]) { types |= Self.write }
    types = take(types, repeating: 0)
    guard types != 0, let info else { return }
    unsafe info.bracketing { held in unsafe callout(pointer, types, held) }
  }
}
