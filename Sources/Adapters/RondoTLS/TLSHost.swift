#if TLS
  internal import CRondoTLS

  /// Whether a certificate can be checked against it: a name of DNS with or without underscores, or an address.
  func isHost(_ host: String) -> Bool {
    if unsafe rondo_tls_is_address(host) != 0 { return !host.utf8.contains(0) }
    let labels = host.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    return host.utf8.count <= 253
      && labels.allSatisfy { label in
        1...63 ~= label.count
          && label.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
              UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
              true
            default: false
            }
          }
      }
  }
#endif
