internal import Glibc
internal import rondo_parity

/// The executable beside the tests, which owns the main thread that Swift Testing does not.
enum Tool {
  static let path: String? = {
    // The tests run from the build directory's own executable, or from the toolchain with the bundle as an argument.
    let candidates = [MainThreadRows.ownExecutable] + CommandLine.arguments
    for candidate in candidates {
      guard let slash = candidate.lastIndex(of: "/") else { continue }
      let path = candidate[...slash] + "rondo-parity"
      if unsafe access(String(path), X_OK) == 0 { return String(path) }
    }
    return nil
  }()
}
