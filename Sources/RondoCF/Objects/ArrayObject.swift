/// A CFArray of objects that it keeps, or of pointers that are its maker's business.
@safe class ArrayObject: CFObject, @unchecked Sendable {
  /// *constant* unless it is mutable
  fileprivate(set) final var values: [UnsafeRawPointer?]
  /// *constant*
  fileprivate final let retains: Bool

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

/// A CFMutableArray. One thread at a time.
@safe final class MutableArrayObject: ArrayObject, @unchecked Sendable {
  func insert(_ value: UnsafeRawPointer?, at index: Int) {
    if retains, let value = unsafe value { unsafe retain(value) }
    unsafe values.insert(value, at: index)
  }

  func remove(_ range: Range<Int>) {
    let removed = unsafe values[range]
    unsafe values.removeSubrange(range)
    guard retains else { return }
    // An object may end here, and its context be called.
    for index in unsafe removed.indices { if let value = unsafe removed[index] { unsafe release(value) } }
  }
}

/// CFRetain.
func retain(_ pointer: UnsafeRawPointer) {
  _ = unsafe Unmanaged<AnyObject>.fromOpaque(pointer).retain()
}

/// CFRelease.
func release(_ pointer: UnsafeRawPointer) {
  unsafe Unmanaged<AnyObject>.fromOpaque(pointer).release()
}
