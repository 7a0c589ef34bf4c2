/// The CFAllocator that allocates and frees nothing: the one that is not NULL.
final class AllocatorObject: CFObject, @unchecked Sendable {
  override class var typeID: UInt { 2 }
  override var text: String { head("CFAllocator") }
}
