internal import CRondo
import Rondo

// How functions of C answer: by a number, less than zero for an error.

// The header's module is this one's, and has no Swift of its own.
// swift-format-ignore: AvoidRetroactiveConformances
extension rondo_error: @retroactive Error {}

/// The answer of a function that has one.
@inline(__always)
func answer(_ body: () throws(rondo_error) -> CInt) -> CInt {
  do { return try body() } catch { return error.rawValue }
}

/// The answer of a function that only does something.
@inline(__always)
func done(_ body: () throws(rondo_error) -> Void) -> CInt {
  do { try body() } catch { return error.rawValue }
  return RONDO_OK.rawValue
}

/// Whether flags are among those that a function knows.
@inline(__always)
func check(_ flags: CUnsignedInt, within known: CUnsignedInt) throws(rondo_error) {
  if flags & ~known != 0 { throw RONDO_ERROR_RANGE }
}

extension Loop.Mode {
  /// The mode of that name, `.common` among them; NULL is the default one.
  @inline(__always)
  init(named name: UnsafePointer<CChar>?) throws(rondo_error) {
    if let name = unsafe name { self = unsafe try Self.named(name) } else { self = .default }
  }

  /// The same where the common modes will not do.
  @inline(__always)
  init(one name: UnsafePointer<CChar>?) throws(rondo_error) {
    unsafe try self.init(named: name)
    if unsafe name != nil, self == .common { throw RONDO_ERROR_MODE }
  }

  @inline(never)
  private static func named(_ name: UnsafePointer<CChar>) throws(rondo_error) -> Loop.Mode {
    guard let name = unsafe String(validatingCString: name) else { throw RONDO_ERROR_MODE }
    return Loop.Mode(name)
  }
}

extension Loop {
  /// The caller must be on the loop's thread.
  @inline(__always)
  func checkCaller() throws(rondo_error) {
    if !isCurrent { throw hasEnded ? RONDO_ERROR_ENDED : RONDO_ERROR_THREAD }
  }

  /// There must be room for the mode.
  @inline(__always)
  func checkRoom(for mode: Mode) throws(rondo_error) {
    if !admit(mode) { throw RONDO_ERROR_MODES }
  }

  /// The loop must have a thread.
  @inline(__always)
  func checkLife() throws(rondo_error) {
    if hasEnded { throw RONDO_ERROR_ENDED }
  }
}
