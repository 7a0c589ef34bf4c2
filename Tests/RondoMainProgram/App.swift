// A `LoopProgram`, without RondoMain.

import CLinux
import Glibc
import Rondo
import RondoTestSupport

@concurrent func elsewhere() async -> Bool { rondo_is_main_thread() != 0 }

@inline(never)
func isHome() -> Bool { rondo_is_main_thread() != 0 }

struct Failure: Error {}

@main struct App: LoopProgram {
  static func run() async throws {
    endProcess(after: 300)
    switch CommandLine.arguments.dropFirst().first {
    case "throws":
      await Task.yield()
      throw Failure()
    case "stop":
      Loop.main.stop()
      try await Loop.main.clock.sleep(for: .seconds(3600))
    default:
      var (here, there) = (0, 0)
      for _ in 0..<200 {
        if await !elsewhere() { there += 1 }
        if isHome() { here += 1 }
      }
      print("elsewhere", there)
      print("on-main", here)
    }
  }
}
