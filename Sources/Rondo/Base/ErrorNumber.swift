import Glibc

/// An errno in the text of an error: its number and its meaning. See strerror(3).
package func describe(errno number: CInt) -> String {
  let known = [
    EMFILE: "too many open files in this process", ENFILE: "too many open files in the system", ENOMEM: "out of memory",
  ]
  return "errno \(number) (\(unsafe known[number] ?? String(cString: strerror(number))))"
}
