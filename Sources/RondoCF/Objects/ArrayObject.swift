/// A CFArray of objects that it keeps, or of pointers that are its maker's business.
@safe final class ArrayObject: CFObject, @unchecked Sendable {
  /// *constant*
  let values: [UnsafeRawPointer?]
  /// *constant*
  private let retains: Bool

  init(_ values: [UnsafeRawPointer?], retaining retains: Bool) {
    unsafe self.values = values
    self.retains = retains
    guard retains else { return }
    for index in unsafe values.indices { if let value = unsafe values[index] { unsafe retain(value) } }
  }

  convenience init(_ objects: [CFObject]) {
    unsafe self.init(objects.map { unsafe UnsafeRawPointer($0.pointer) }, retaining: true)
    withExtendedLifetime(objects) {}
  }

  deinit {
    guard retains else { return }
    for index in unsafe values.indices { if let value = unsafe values[index] { unsafe release(value) } }
  }

  override class var typeID: UInt { 19 }
  override var text: String { unsafe "\(head("CFArray")){count = \(values.count)}" }
}

/// CFRetain.
func retain(_ pointer: UnsafeRawPointer) {
  _ = unsafe Unmanaged<AnyObject>.fromOpaque(pointer).retain()
}

/// CFRelease.
func release(_ pointer: UnsafeRawPointer) {
  unsafe Unmanaged<AnyObject>.fromOpaque(pointer).release()
}
