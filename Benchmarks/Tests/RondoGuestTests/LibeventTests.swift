import CGuests
import Glibc
import Rondo
import RondoCurl
import RondoGuests
import Testing

/// Libraries on libevent in a mode of a loop, and libcurl beside them.
@Suite struct LibeventTests {
  @Test(arguments: [Loop.Mode.default, "tls"]) func `TLS connects and talks on bufferevents, in one mode`(
    mode: Loop.Mode
  ) {
    onLoopThread { stage in
      var words: CInt = 0
      let heard = Words {
        words = $0
        stage.loop.stop()
      }
      let outcome = stage.withBase(in: mode) { base in
        guest_tls(
          base, 500, { Unmanaged<Words>.fromOpaque($0!).takeUnretainedValue().heard($1) },
          Unmanaged.passUnretained(heard).toOpaque())
      }
      if outcome != 0 { return print("Skipped: OpenSSL is not installed; see `make setup-bench`.") }
      if mode != .default {
        stage.loop.run(for: .milliseconds(20))
        #expect(words == 0)
      }
      #expect(stage.loop.run(in: mode, for: .seconds(60)) == .stopped)
      #expect(words == 500)
    }
  }

  @Test func `libcurl's transfers and the server they come from share a loop`() {
    withServer { stage, server, curl in
      let sizes = [0, 1, 1000, 1_000_000] + Array(repeating: 5000, count: 16)
      var left = sizes.count
      for size in sizes {
        curl.get("\(server)/\(size)") { response in
          #expect(response.error == 0 && response.status == 200 && response.bytes == size)
          left -= 1
          if left == 0 { stage.loop.stop() }
        }
      }
      #expect(stage.run())
      // Its connections are kept, and nobody is awake for them.
      stage.loop.run(for: .milliseconds(20))
      let before = stage.loop.statistics.turns
      stage.loop.run(for: .milliseconds(200))
      #expect(stage.loop.statistics.turns - before <= 2)
    }
  }

  @Test func `a transfer may begin another, or run the loop, when it is over`() {
    withServer { stage, server, curl in
      curl.get("\(server)/1") { _ in
        stage.note("first")
        curl.get("\(server)/2") { response in
          stage.note("second \(response.bytes)")
          stage.loop.stop()
        }
        // What libevent answers in has to return first: the server waits for it, its client does not.
        #expect(stage.run())
        stage.note("back")
        stage.loop.stop()
      }
      #expect(stage.run())
      #expect(stage.text == "first second 2 back")
    }
  }

  @Test func `a slow answer holds up nothing else`() {
    withServer { stage, server, curl in
      curl.get("\(server)/slow") { response in
        stage.note("slow \(response.bytes)")
        stage.loop.stop()
      }
      stage.loop.add(Loop.Timer(after: .milliseconds(5)) { _ in stage.note("timer") })
      #expect(stage.run())
      #expect(stage.text == "timer slow 4")
    }
  }

  @Test func `a server that is not there is an error, and transfers can be cut short`() {
    withServer { stage, server, curl in
      let listener = socket(AF_INET, CInt(SOCK_STREAM.rawValue), 0)
      var address = sockaddr_in()
      address.sin_family = sa_family_t(AF_INET)
      address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
      var size = socklen_t(MemoryLayout<sockaddr_in>.size)
      withUnsafeMutablePointer(to: &address) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          // Bound, and nobody listens.
          precondition(bind(listener, $0, size) == 0 && getsockname(listener, $0, &size) == 0)
        }
      }
      curl.get("http://127.0.0.1:\(UInt16(bigEndian: address.sin_port))/") { response in
        stage.note("\(response.error)")
        stage.loop.stop()
      }
      #expect(stage.run())
      #expect(stage.text == "7")
      close(listener)
      curl.get("\(server)/slow") { _ in stage.note("never") }
      stage.loop.run(for: .milliseconds(5))
      curl.end()
      stage.loop.run(for: .milliseconds(50))
      #expect(stage.text == "7")
    }
  }

  /// What C tells how many words came back.
  private final class Words {
    let heard: (CInt) -> Void
    init(_ heard: @escaping (CInt) -> Void) { self.heard = heard }
  }
}

/// Runs `body` with a server and libcurl in the default mode of a new thread's loop.
private func withServer(_ body: @escaping @Sendable (Stage, String, CurlMulti) -> Void) {
  onLoopThread { stage in
    guard let curl = CurlMulti() else {
      return print("Skipped: libcurl is not installed; see `make setup-bench`.")
    }
    var port: CInt = 0
    let server = stage.withBase { base in guest_http_new(base, &port) }
    body(stage, "http://127.0.0.1:\(port)", curl)
    curl.end()
    // The server hears of its clients' going, and answers nobody any more.
    stage.loop.run(for: .milliseconds(30))
    guest_http_free(server)
  }
}

extension Stage {
  fileprivate func withBase<Result>(in mode: Loop.Mode = .default, _ body: (OpaquePointer) -> Result) -> Result {
    do { return try loop.withEventBase(in: mode, body) } catch { fatalError("\(error)") }
  }
}
