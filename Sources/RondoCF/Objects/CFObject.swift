/// What a CFTypeRef points to. References are counted as Swift counts them, which is how CFRetain does it here.
class CFObject: @unchecked Sendable {
  /// The number of its type.
  class var typeID: UInt { 0 }

  /// What it is, for people.
  var text: String { "<CFType>" }

  /// Whether CFEqual holds. Calls out for sources.
  func isEqual(to other: CFObject) -> Bool { self === other }

  /// What CFHash tells. Calls out for sources.
  var hashCode: UInt { UInt(bitPattern: ObjectIdentifier(self)) }

  /// The same object to one who keeps it otherwise.
  final var pointer: UnsafeMutableRawPointer {
    unsafe Unmanaged.passUnretained(self).toOpaque()
  }

  /// The same object to one who is to release it.
  final var owned: UnsafeMutableRawPointer {
    unsafe Unmanaged.passRetained(self).toOpaque()
  }

  /// The address and the type, as descriptions begin.
  final func head(_ type: String) -> String {
    "<\(type) 0x\(String(UInt(bitPattern: ObjectIdentifier(self)), radix: 16))>"
  }
}

/// The object that C or Swift has named; nil for NULL and for an object of another type.
func object<Object: CFObject>(_ pointer: UnsafeRawPointer?, _ type: Object.Type = Object.self) -> Object? {
  guard let pointer = unsafe pointer else { return nil }
  return unsafe Unmanaged<CFObject>.fromOpaque(pointer).takeUnretainedValue() as? Object
}

/// The same of an object that was handed over.
func consumed<Object: CFObject>(_ pointer: UnsafeRawPointer?, _ type: Object.Type = Object.self) -> Object? {
  guard let pointer = unsafe pointer else { return nil }
  return unsafe Unmanaged<CFObject>.fromOpaque(pointer).takeRetainedValue() as? Object
}
