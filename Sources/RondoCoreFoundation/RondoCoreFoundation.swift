@_exported public import CRondoCF

// The functions are in RondoCF, which the package links with this module: what Swift calls here is the symbol that C calls.

/// What Apple's systems have for a mode beside its string.
extension CFString {
  /// The mode of ordinary work: `kCFRunLoopDefaultMode`.
  public static var defaultMode: CFRunLoopMode { kCFRunLoopDefaultMode }
  /// Stands for every common mode: `kCFRunLoopCommonModes`.
  public static var commonModes: CFRunLoopMode { kCFRunLoopCommonModes }
}
