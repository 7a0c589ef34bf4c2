import Glibc
import Rondo

/// What is looked up, and how. It blocks.
struct LookupQuery: Sendable {
  let host: String
  let port: UInt16
  let family: Resolver.Family

  typealias Answer = Result<[SocketAddress], LookupError>

  /// The answer that needs no lookup: an address as text, or no name at all.
  var ownAnswer: Answer? {
    if host.isEmpty || host.utf8.contains(0) { return .failure(.badName(host)) }
    if let address = IPv4Address(host) {
      return family == .ipv6 ? .failure(.notFound(host)) : .success([.ipv4(address, port: port)])
    }
    if let address = IPv6Address(host) {
      return family == .ipv4 ? .failure(.notFound(host)) : .success([.ipv6(address, port: port)])
    }
    return nil
  }

  /// The answer of a simulation.
  func answer(by found: SimulatedAddresses) -> Answer {
    guard case .found(let names) = found else { return .failure(.unavailable(host)) }
    let addresses = names.compactMap {
      try? LookupQuery(host: $0, port: port, family: family).ownAnswer?.get()
    }.joined()
    return addresses.isEmpty ? .failure(.notFound(host)) : .success(Array(addresses))
  }

  /// Asks the system, in the order in which the addresses are to be tried: RFC 6724. Blocks, perhaps for minutes.
  func ask() -> Answer {
    var hints = unsafe addrinfo()
    unsafe hints.ai_family = family.number
    unsafe hints.ai_socktype = CInt(SOCK_STREAM.rawValue)
    var first: UnsafeMutablePointer<addrinfo>?
    let code = unsafe getaddrinfo(host, nil, &hints, &first)
    guard code == 0 else { return .failure(LookupError(host, code: code, errno: errno)) }
    defer { unsafe freeaddrinfo(first) }
    var addresses: [SocketAddress] = []
    var entry = unsafe first
    while let found = unsafe entry {
      let raw = unsafe UnsafeRawBufferPointer(start: found.pointee.ai_addr, count: Int(found.pointee.ai_addrlen))
      if let address = unsafe SocketAddress(host: Array(raw), port), !addresses.contains(address) {
        addresses.append(address)
      }
      unsafe entry = found.pointee.ai_next
    }
    return addresses.isEmpty ? .failure(.notFound(host)) : .success(addresses)
  }
}

extension Resolver.Family {
  fileprivate var number: CInt {
    switch self {
    case .any: AF_UNSPEC
    case .ipv4: AF_INET
    case .ipv6: AF_INET6
    }
  }
}

extension SocketAddress {
  /// An internet address with a port of its own; nil for any other.
  fileprivate init?(host bytes: [UInt8], _ port: UInt16) {
    switch try? SocketAddress(socketBytes: bytes) {
    case .ipv4(let address, port: _): self = .ipv4(address, port: port)
    case .ipv6(let address, port: _, let scope): self = .ipv6(address, port: port, scope: scope)
    case .unix, nil: return nil
    }
  }
}
