/// A CFData.
@safe final class DataObject: CFObject, @unchecked Sendable {
  /// *constant*
  let bytes: UnsafeBufferPointer<UInt8>

  /// A copy of the bytes.
  init(_ bytes: some Collection<UInt8>) {
    let copy = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: bytes.count)
    _ = unsafe copy.initialize(from: bytes)
    unsafe self.bytes = UnsafeBufferPointer(copy)
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
