internal import CRondoCFPointers

/// What a context of C gives to be handed to its functions, and how references to it are counted.
@safe struct Info: @unchecked Sendable {
  typealias Retain = @convention(c) (UnsafeRawPointer?) -> UnsafeRawPointer?
  typealias Release = @convention(c) (UnsafeRawPointer?) -> Void
  typealias Describe = @convention(c) (UnsafeRawPointer?) -> UnsafeRawPointer?

  let pointer: UnsafeMutableRawPointer?
  let retain: Retain?
  let release: Release?
  let describe: Describe?

  /// Takes its reference. Calls out.
  init(_ pointer: UnsafeMutableRawPointer?, _ retain: Retain?, _ release: Release?, _ describe: Describe?) {
    unsafe self.pointer = retain.map { unsafe UnsafeMutableRawPointer(mutating: $0(pointer)) } ?? pointer
    unsafe self.retain = retain
    unsafe self.release = release
    unsafe self.describe = describe
  }

  /// A block, which is copied.
  init(block: UnsafeMutableRawPointer?) {
    unsafe self.init(
      block, { unsafe UnsafeRawPointer(rondo_cf_block_copy($0)) }, { unsafe rondo_cf_block_release($0) }, nil)
  }

  /// Gives its reference back. Calls out.
  func end() {
    unsafe release?(pointer)
  }

  /// Runs `body` with what the functions are given, retained for as long if there is a `retain`. Calls out.
  func bracketing(_ body: (UnsafeMutableRawPointer?) -> Void) {
    guard let retain = unsafe retain else { return unsafe body(pointer) }
    let held = unsafe retain(pointer)
    unsafe body(UnsafeMutableRawPointer(mutating: held))
    unsafe release?(held)
  }

  /// What it says of itself. Calls out.
  var text: String? {
    guard let described = unsafe describe?(pointer) else { return nil }
    return unsafe consumed(described, StringObject.self)?.string
  }
}
