import CTests
import Glibc
import Rondo
import RondoGuests
import Testing

/// libevent's resolver in a mode of a loop, and a name server that is a descriptor source of it.
@Suite struct EventBaseResolverTests {
  @Test(arguments: [0, 2]) func `a name is resolved, whether or not the first questions are lost`(lost: Int) {
    onLoopThread { stage in
      let server = NameServer(stage, address: 0x0A01_0203, ignoring: lost)
      var address: UInt32?
      let answer = Answer {
        address = $0
        stage.loop.stop()
      }
      do {
        try unsafe stage.loop.withEventBase { base in
          unsafe foreign_resolve(
            base, CInt(server.port), "rondo.test",
            { unsafe Unmanaged<Answer>.fromOpaque($0!).takeUnretainedValue().tell($1) },
            Unmanaged.passUnretained(answer).toOpaque())
        }
      } catch {
        Issue.record(error)
      }
      #expect(stage.loop.run(for: .seconds(60)) == .stopped)
      #expect(address == 0x0A01_0203)
      #expect(server.questions == lost + 1)
      server.close()
    }
  }

  /// What C tells.
  private final class Answer {
    let tell: (UInt32) -> Void
    init(_ tell: @escaping (UInt32) -> Void) { self.tell = tell }
  }

  /// Answers every question but the first ones with one address.
  private final class NameServer: @unchecked Sendable {
    let port: UInt16
    private(set) var questions = 0
    private var source: Loop.DescriptorSource!

    init(_ stage: Stage, address: UInt32, ignoring lost: Int) {
      let descriptor = socket(AF_INET, CInt(SOCK_DGRAM.rawValue) | O_CLOEXEC | O_NONBLOCK, 0)
      var own = sockaddr_in()
      own.sin_family = sa_family_t(AF_INET)
      own.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
      var size = socklen_t(MemoryLayout<sockaddr_in>.size)
      unsafe withUnsafeMutablePointer(to: &own) {
        unsafe $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          precondition(unsafe bind(descriptor, $0, size) == 0 && getsockname(descriptor, $0, &size) == 0)
        }
      }
      port = UInt16(bigEndian: own.sin_port)
      source = stage.descriptor("", descriptor, closesOnInvalidation: true) { [unowned self] _, _ in
        var client = sockaddr_storage()
        var size = socklen_t(MemoryLayout<sockaddr_storage>.size)
        var packet = [UInt8](repeating: 0, count: 512)
        unsafe withUnsafeMutablePointer(to: &client) {
          unsafe $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
            let length = unsafe recvfrom(descriptor, &packet, packet.count, 0, $0, &size)
            guard length > 0 else { return }
            questions += 1
            if questions <= lost { return }
            let answer = Self.answer(to: Array(packet[..<length]), address)
            precondition(unsafe sendto(descriptor, answer, answer.count, 0, $0, size) == answer.count)
          }
        }
      }
    }

    func close() { source.invalidate() }

    /// RFC 1035: the question as it came, then one record of class IN and type A, whose name refers to the question's.
    private static func answer(to packet: [UInt8], _ address: UInt32) -> [UInt8] {
      var end = 12
      while packet[end] != 0 { end += 1 + Int(packet[end]) }
      var answer = Array(packet[..<(end + 5)])
      // An answer, recursion available, no error; one question, one answer, nothing more.
      answer.replaceSubrange(2..<12, with: [0x81, 0x80, 0, 1, 0, 1, 0, 0, 0, 0])
      answer += [0xC0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4]
      unsafe withUnsafeBytes(of: address.bigEndian) { unsafe answer.append(contentsOf: $0) }
      return answer
    }
  }
}
