import CLinux
import Glibc
import Rondo
import RondoSockets
import RondoTesting
import Testing

/// The same calls on sockets of the kernel and on simulated ones have the same results.
@Suite struct SimulatedKernelTests {
  private static let operations = 40

  /// Does random things to both ends of a pair of Unix-domain sockets; the result of each, in words.
  private func play(_ seed: UInt64, _ kind: Socket.Kind) throws -> [String] {
    var random = SeededRandom(seed: seed)
    let pair = try Socket.pair(kind)
    var ends: [Socket?] = [pair.0, pair.1]
    var results: [String] = []
    for _ in 0..<Self.operations {
      let place = Int.random(in: 0...1, using: &random)
      let operation = Int.random(in: 0..<24, using: &random)
      let count = Int.random(in: 1...100, using: &random)
      guard let end = ends[place] else { continue }
      let result: String
      switch operation {
      case 0: (ends[place], result) = (nil, "closed")
      case 1: result = word { try end.finishWriting() }
      case 2: result = "\(rondo_shutdown(end.descriptor, CInt(SHUT_RD)))"
      case 3: result = end.takeError().map { "\($0)" } ?? "no error"
      case 4..<12: result = word { try end.send([UInt8](repeating: UInt8(count), count: count)[...]) }
      case 12..<20: result = word { try end.receive(limit: count) }
      default:
        result =
          "ready \(rondo_is_ready(end.descriptor, 0)) \(rondo_is_ready(end.descriptor, 1)) \(rondo_has_hung_up(end.descriptor))"
      }
      results.append("\(place) \(operation) \(result)")
    }
    return results
  }

  private func word<Result>(_ body: () throws -> Result) -> String {
    do { return "\(try body())" } catch { return "\(error)" }
  }

  @Test(arguments: [Socket.Kind.stream, .datagram])
  func `five hundred random plays with a pair have the results that the kernel gives`(_ kind: Socket.Kind) throws {
    for seed in 0..<500 {
      let real = try play(UInt64(seed), kind)
      let simulated = try withSimulation { simulation in
        try simulation.host("10.0.0.1").run { try play(UInt64(seed), kind) }
      }
      try #require(simulated == real, "seed \(seed)")
    }
  }

  // MARK: - TCP

  /// Both ends of a connection over the loopback interface, and the listener.
  private func connect() throws -> (client: Socket, server: Socket?, listener: Socket) {
    let listener = try Socket.listening(at: try SocketAddress(parsing: "127.0.0.1:0"))
    let client = try Socket(family: AF_INET, .stream)
    try client.connect(to: listener.localAddress!, timeout: .seconds(10))
    wait(listener, POLLIN)
    return (client, try listener.accept()!.socket, listener)
  }

  /// Waits until poll(2) says that one of the events is true, or a connection has failed.
  private func wait(_ socket: Socket, _ events: Int32) {
    _ = rondo_poll_two(socket.descriptor, events, -1, 10_000)
  }

  private func ends(_ socket: Socket) -> String {
    wait(socket, POLLIN)
    return word { try socket.receive() }
  }

  /// What the steps of a connection's end give, in words.
  private func playTCP(_ number: Int) throws -> [String] {
    let (client, listener): (Socket, Socket)
    var server: Socket?
    (client, server, listener) = try connect()
    var words: [String] = []
    switch number {
    case 0:  // An end after bytes.
      words.append(word { try client.send([1, 2, 3]) })
      try client.finishWriting()
      words.append(ends(server!))
      words.append(ends(server!))
      words.append(word { try server!.send([4]) })
      words.append(ends(client))
      words.append(word { try client.send([5]) })
      server = nil
      words.append(ends(client))
    case 1:  // Bytes that were not read.
      _ = try client.send([1, 2, 3])
      wait(server!, POLLIN)
      server = nil
      wait(client, POLLIN)
      words.append(client.takeError().map { "\($0)" } ?? "no error")
      words.append(ends(client))
      words.append(word { try client.send([4]) })
    case 2:  // Bytes for a socket that was closed.
      server = nil
      words.append(ends(client))
      words.append(word { try client.send([1]) })
      wait(client, POLLERR)
      words.append(word { try client.send([2]) })
      words.append(ends(client))
    case 3:  // A listener that is closed.
      let address = listener.localAddress!
      let other = try Socket(family: AF_INET, .stream)
      try other.connect(to: address, timeout: .seconds(10))
      wait(listener, POLLIN)
      words.append(word { _ = try listener.accept() })
      words.append(word { try listener.send([1]) })
      words.append(word { try listener.receive() })
      words.append(word { _ = try client.accept() })
      words.append(word { try client.bind(to: address) })
    case 4:  // What is no connection.
      let fresh = try Socket(family: AF_INET, .stream)
      words.append(word { try fresh.send([1]) })
      words.append(word { try fresh.receive() })
      words.append(word { try fresh.finishWriting() })
      words.append("\(fresh.localAddress as Any) \(fresh.peerAddress as Any)")
      words.append("\(rondo_is_ready(fresh.descriptor, 0)) \(rondo_is_ready(fresh.descriptor, 1))")
      words.append(word { try client.connect(to: listener.localAddress!) })
    case 5:  // An urgent byte, at which receives stop.
      _ = try client.send([1, 2, 3])
      words.append("\(rondo_send_urgent(client.descriptor, 9))")
      _ = try client.send([4, 5])
      wait(server!, POLLIN)
      words.append(ends(server!))
      words.append("\(rondo_is_ready(server!.descriptor, 0))")
      words.append(ends(server!))
      words.append(word { try server!.receive() })
      words.append("\(rondo_send_urgent(client.descriptor, 9))")
      words.append(word { try server!.receive() })
      _ = try client.send([6])
      words.append(ends(server!))
    default:  // Addresses.
      words.append("\(client.peerAddress == listener.localAddress) \(server!.peerAddress == client.localAddress)")
      words.append("\(server!.localAddress == listener.localAddress)")
      let second = try Socket(family: AF_INET, .stream)
      words.append(
        word {
          try second.bind(to: listener.localAddress!)
          try second.listen()
        }.prefix { $0 != ":" }.description)
      words.append(word { try second.bind(to: try SocketAddress(parsing: "192.0.2.1:80")) })
    }
    return withExtendedLifetime((client, listener)) { words }
  }

  @Test(arguments: 0...6)
  func `connections over the loopback interface move bytes and end as the kernel's do`(_ number: Int) throws {
    let real = try playTCP(number)
    let simulated = try withSimulation { simulation in try simulation.host("10.0.0.1").run { try playTCP(number) } }
    #expect(simulated == real)
  }

  // MARK: - Names in the file system

  private func playPaths(_ directory: String) throws -> [String] {
    let path = try SocketAddress(parsing: directory + "/socket")
    let client = try Socket(family: AF_UNIX, .stream)
    var words = [word { try client.connect(to: path) }]
    var listener: Socket? = try Socket.listening(at: path, backlog: 1)
    words.append(word { try Socket.listening(at: path).descriptor })
    words.append(word { try client.connect(to: path) })
    words.append("\(client.localAddress as Any) \(client.peerAddress as Any)")
    let (server, peer) = try listener!.accept()!
    words.append("\(server.localAddress as Any) \(peer)")
    listener = nil
    // A child that another test has forked has the listener until it ends.
    var late = ""
    repeat { late = word { try Socket(family: AF_UNIX, .stream).connect(to: path) } } while late == "true"
    words.append(late)
    return words.map { $0.replacing(directory, with: "") }
  }

  @Test func `sockets with a path have the results that the kernel gives`() throws {
    let directory = "/tmp/rondo-simulated-\(getpid())"
    unsafe mkdir(directory, 0o700)
    defer {
      unsafe unlink(directory + "/socket")
      unsafe rmdir(directory)
    }
    let real = try playPaths(directory)
    let simulated = try withSimulation { simulation in
      try simulation.host("10.0.0.1").run { try playPaths("/tmp/of-nobody") }
    }
    #expect(simulated == real)
  }
}
