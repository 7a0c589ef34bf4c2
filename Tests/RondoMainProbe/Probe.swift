// An async main on the main loop, for the tests that look at it from outside: `rondo-main-probe <subject>`.

import Glibc
import RondoMain
import RondoTestSupport

@main struct Probe {
  static func main() async throws {
    // One that waits for ever has failed; none takes a hundredth of this.
    endProcess(after: 300)
    switch CommandLine.arguments.dropFirst().first {
    case "hops": await probeHops()
    case "serves": await probeServing(adopts: false)
    case "adopted-serves": await probeServing(adopts: true)
    case "current": await probeCurrent()
    case "order": await probeOneExecutor()
    case "throws": try await probeThrowing()
    case "throws-at-once": throw Failure()
    case "returns": await probeReturning()
    case "returns-at-once": reportAtExit()
    case "stop": await probeStopping()
    case "adopts": await probeAdopting()
    case "adopted-sleeps": await probeAdoptedSleeps()
    default:
      print("usage: rondo-main-probe <subject>")
      exit(2)
    }
  }
}

struct Failure: Error {}
