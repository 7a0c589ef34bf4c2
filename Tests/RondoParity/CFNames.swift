internal import CoreFoundation
internal import Glibc

// Exported by the library, absent from its public header.
@_silgen_name("CFRunLoopSourceIsSignalled")
func cfSourceIsSignalled(_ source: CFRunLoopSource) -> Bool

@_silgen_name("_CFRunLoopFinished")
func cfIsFinished(_ loop: CFRunLoop, _ mode: CFString) -> Bool

@_silgen_name("_CFRunLoopStopMode")
func cfStopMode(_ loop: CFRunLoop, _ mode: CFString)

/// Strings between the two worlds: a scenario's `D` and `C` are CFRunLoop's exported constants.
enum CFNames {
  static func mode(_ name: String) -> CFString {
    switch name {
    case "D": kCFRunLoopDefaultMode
    case "C": kCFRunLoopCommonModes
    default: unsafe CFStringCreateWithCString(nil, name, CFStringBuiltInEncodings.UTF8.rawValue)
    }
  }

  static func name(of mode: CFString) -> String {
    if CFEqual(mode, kCFRunLoopDefaultMode) { return "D" }
    if CFEqual(mode, kCFRunLoopCommonModes) { return "C" }
    return text(mode)
  }

  static func array(_ names: [String]) -> CFArray {
    var callbacks = kCFTypeArrayCallBacks
    let array = unsafe CFArrayCreateMutable(nil, names.count, &callbacks)!
    for name in names {
      let mode = mode(name)
      // The array retains it only inside the call.
      withExtendedLifetime(mode) {
        unsafe CFArrayAppendValue(array, Unmanaged.passUnretained(mode).toOpaque())
      }
    }
    return array
  }

  static func names(in array: CFArray) -> [String] {
    (0..<CFArrayGetCount(array)).map { index in
      let value = unsafe CFArrayGetValueAtIndex(array, index)!
      return name(of: unsafe Unmanaged<CFString>.fromOpaque(value).takeUnretainedValue())
    }
  }

  /// The loop's wake-up descriptor, which only its description tells.
  static func wakePort(of loop: CFRunLoop) -> CInt {
    let description = text(CFCopyDescription(loop))
    let mark = "wakeup port = 0x"
    guard let found = description.firstRange(of: mark) else { preconditionFailure("no wake-up port in \(description)") }
    let digits = description[found.upperBound...].prefix { $0.isHexDigit }
    return CInt(digits, radix: 16)!
  }

  /// Each mode's timer descriptor, which only the loop's description tells.
  static func timerPorts(of loop: CFRunLoop) -> [String: CInt] {
    var ports: [String: CInt] = [:]
    // A mode says its name, then its descriptors.
    for mode in text(CFCopyDescription(loop)).split(separator: "<CFRunLoopMode ").dropFirst() {
      guard let name = mode.firstRange(of: "{name = "), let port = mode.firstRange(of: "timer port = 0x") else {
        continue
      }
      let known = mode[name.upperBound...].prefix { $0 != "," }
      let digits = mode[port.upperBound...].prefix { $0.isHexDigit }
      ports[known == text(kCFRunLoopDefaultMode) ? "D" : String(known)] = CInt(digits, radix: 16)
    }
    return ports
  }

  private static func text(_ string: CFString) -> String {
    // Four bytes hold any UTF-16 unit's UTF-8 form, and one ends the string.
    var bytes = [CChar](repeating: 0, count: CFStringGetLength(string) * 4 + 1)
    guard unsafe CFStringGetCString(string, &bytes, bytes.count, CFStringBuiltInEncodings.UTF8.rawValue) else {
      return ""
    }
    return String(decoding: bytes.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }
}
