import Glibc

/// The process's stderr.
enum ErrorOutput {
  static func write(_ text: String) {
    var text = text
    text.withUTF8 { bytes in
      var written = 0
      while written < bytes.count {
        let count = unsafe Glibc.write(2, bytes.baseAddress! + written, bytes.count - written)
        if count < 0 && errno == EINTR { continue }
        if count <= 0 { return }
        written += count
      }
    }
  }
}
