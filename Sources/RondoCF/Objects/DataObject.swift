/// A CFData.
@safe class DataObject: CFObject, @unchecked Sendable {
  /// *constant* unless it is mutable
  fileprivate(set) final var bytes: UnsafeMutableBufferPointer<UInt8>

  /// A copy of the bytes.
  init(_ bytes: some Collection<UInt8>) {
    let copy = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: bytes.count)
    _ = unsafe copy.initialize(from: bytes)
    unsafe self.bytes = unsafe copy
  }

  deinit {
    unsafe bytes.deallocate()
  }

  override class var typeID: UInt { 20 }
  override var text: String { unsafe "\(head("CFData")){length = \(bytes.count)}" }

  override var hashCode: UInt {
    var hasher = Hasher()
    unsafe hasher.combine(bytes: UnsafeRawBufferPointer(bytes))
    return UInt(bitPattern: hasher.finalize())
  }

  override func isEqual(to other: CFObject) -> Bool {
    guard let other = other as? DataObject else { return false }
    return unsafe bytes.elementsEqual(other.bytes)
  }
}

/// A CFMutableData. One thread at a time.
@safe final class MutableDataObject: DataObject, @unchecked Sendable {
  /// How much fits into the memory behind `bytes`.
  private var room = 0

  func resize(_ count: Int) {
    if count > room {
      room = max(count, 2 * room, 64)
      let grown = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: room)
      _ = unsafe grown.update(fromContentsOf: bytes)
      unsafe bytes.deallocate()
      unsafe bytes = UnsafeMutableBufferPointer(start: grown.baseAddress, count: bytes.count)
    }
    let old = unsafe bytes.count
    unsafe bytes = UnsafeMutableBufferPointer(start: bytes.baseAddress, count: count)
    if count > old { unsafe bytes.extracting(old...).initialize(repeating: 0) }
  }

  func append(_ more: UnsafeBufferPointer<UInt8>) {
    let old = unsafe bytes.count
    // They may be this object's own.
    let more = unsafe Array(more)
    resize(old + more.count)
    _ = unsafe bytes.extracting(old...).update(fromContentsOf: more)
  }
}
