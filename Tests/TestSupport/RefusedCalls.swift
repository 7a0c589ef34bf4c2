internal import Glibc

/// Has the kernel refuse a system call to the calling thread and its children, from now on: seccomp(2).
///
/// - Parameter error: The errno that it then fails with.
package func refuseSystemCall(_ number: UInt32, with error: CInt) {
  typealias Control = @convention(c) (CInt, UInt, UInt, UInt, UInt) -> CInt
  guard let symbol = unsafe dlsym(nil, "prctl") else { preconditionFailure("There is no prctl(2).") }
  let control = unsafe unsafeBitCast(symbol, to: Control.self)
  // Of <linux/prctl.h> and <linux/seccomp.h>.
  let (setNoNewPrivileges, setSeccomp, filterMode): (CInt, CInt, UInt) = (38, 22, 2)
  // Each is code (16 bits), jumps if true and if false (8 bits each), operand (32 bits).
  let load: UInt64 = 0x20
  let isNumber: UInt64 = 0x15 | 1 << 24 | UInt64(number) << 32
  let refuse: UInt64 = 0x06 | UInt64(0x0005_0000 | UInt32(error)) << 32
  let allow: UInt64 = 0x06 | 0x7fff_0000 << 32
  var program = [load, isNumber, refuse, allow]
  let count = UInt(program.count)
  unsafe program.withUnsafeMutableBufferPointer { program in
    // struct sock_fprog: how many there are, and where.
    var filter = (count, UInt(bitPattern: program.baseAddress!))
    precondition(control(setNoNewPrivileges, 1, 0, 0, 0) == 0)
    let error = unsafe withUnsafePointer(to: &filter) { filter in
      control(setSeccomp, filterMode, UInt(bitPattern: filter), 0, 0)
    }
    precondition(error == 0, "The kernel takes no filter: errno \(errno).")
  }
}
