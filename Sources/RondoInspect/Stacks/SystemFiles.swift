import CRondoInspect
import Glibc

/// Files of the kernel's, read whole.
enum SystemFiles {
  static func text(_ path: String, limit: Int) -> String? {
    let bytes = unsafe [UInt8](unsafeUninitializedCapacity: limit) { buffer, count in
      unsafe count = max(0, rondo_read_file(path, buffer.baseAddress!, limit))
    }
    return bytes.isEmpty ? nil : String(decoding: bytes, as: UTF8.self)
  }

  /// What a descriptor of this process stands for.
  static func target(of descriptor: CInt) -> String? {
    let bytes = unsafe [UInt8](unsafeUninitializedCapacity: 256) { buffer, count in
      let length = unsafe buffer.withMemoryRebound(to: CChar.self) {
        unsafe readlink("/proc/self/fd/\(descriptor)", $0.baseAddress!, 256)
      }
      count = max(0, length)
    }
    return bytes.isEmpty ? nil : String(decoding: bytes, as: UTF8.self)
  }
}
