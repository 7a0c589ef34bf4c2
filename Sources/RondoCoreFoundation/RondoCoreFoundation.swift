@_exported public import CRondoCF

// The functions are in RondoCF, which the package links with this module: what Swift calls here is the symbol that C calls.

/// The modes' constants as members, as on Apple's systems.
extension CFString {
  /// The mode of ordinary work, `kCFRunLoopDefaultMode`.
  public static var defaultMode: CFRunLoopMode { kCFRunLoopDefaultMode }
  /// The name of all common modes, `kCFRunLoopCommonModes`.
  public static var commonModes: CFRunLoopMode { kCFRunLoopCommonModes }
}
