import Glibc

/// An errno as errors tell of it: its number, and what it means. See strerror(3).
package func describe(errno number: CInt) -> String {
  let text =
    switch number {
    case EMFILE: "too many open files in this process"
    case ENFILE: "too many open files in the system"
    case ENOMEM: "out of memory"
    default: unsafe String(cString: strerror(number))
    }
  return "errno \(number) (\(text))"
}
