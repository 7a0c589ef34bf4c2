internal import CRondoCFPointers
import Rondo

/// A source that was made with a context of C's, of one of the two versions.
@safe class ContextSource: SourceObject, @unchecked Sendable {
  typealias Equal = @convention(c) (UnsafeRawPointer?, UnsafeRawPointer?) -> Bool
  typealias Hash = @convention(c) (UnsafeRawPointer?) -> CFHashCode

  /// *constant*
  final let info: Info
  private let equal: Equal?
  private let hash: Hash?
  /// *constant* The address of the function that performs.
  final let code: UInt
  /// *its own lock* Asked for once.
  private let hashed = Guarded<UInt?>(nil)

  init(order: Int, _ info: Info, _ equal: Equal?, _ hash: Hash?, code: UInt) {
    self.info = info
    unsafe self.equal = equal
    unsafe self.hash = hash
    self.code = code
    super.init(order: order)
  }

  deinit {
    // Its context is needed as long as a caller can compare it with another source.
    info.end()
  }

  override final var about: String { "order = \(order), context = \(info.text ?? "-")" }

  /// Writes the context that it was made with.
  func write(_ context: UnsafeMutablePointer<CFRunLoopSourceContext>) {}

  // MARK: - Equality

  override final var hashCode: UInt { contextHash }

  override final var contextHash: UInt {
    if let known = hashed.withLock({ $0 }) { return known }
    let asked = unsafe hash.map { unsafe $0(info.pointer) } ?? UInt(bitPattern: info.pointer)
    hashed.withLock { $0 = asked }
    return asked
  }

  /// Whether version, validity, order, functions and, as `equal` says, infos are the same.
  override final func isEqual(to other: CFObject) -> Bool {
    if self === other { return true }
    guard let other = other as? ContextSource, type(of: self) == type(of: other), isValid == other.isValid,
      order == other.order, code == other.code
    else { return false }
    guard unsafe unsafeBitCast(hash, to: UInt.self) == unsafeBitCast(other.hash, to: UInt.self),
      unsafe unsafeBitCast(equal, to: UInt.self) == unsafeBitCast(other.equal, to: UInt.self)
    else { return false }
    if let equal = unsafe equal { return unsafe equal(info.pointer, other.info.pointer) }
    return unsafe info.pointer == other.info.pointer
  }
}
