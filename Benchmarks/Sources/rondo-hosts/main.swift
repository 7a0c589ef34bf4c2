// The main loop as the guest of a foreign one: `rondo-hosts glib|libuv|nio|sd-event`.

import CHosts
import Glibc
import Rondo

typealias Host = @convention(c) (CInt, host_turn?, host_turn?, UnsafeMutableRawPointer?) -> CInt

var hosts: [String: Host] = ["glib": host_glib, "libuv": host_libuv, "sd-event": host_sd_event]
#if NIO
  hosts["nio"] = hostNIO
#else
  // Built without the trait.
  hosts["nio"] = { _, _, _, _ in -1 }
#endif

guard let name = CommandLine.arguments.dropFirst().first, let host = hosts[name] else {
  print("usage: rondo-hosts", hosts.keys.sorted().joined(separator: "|"))
  exit(2)
}
// A guest that is not served waits for ever.
alarm(120)
let exercise = HostExercise(idle: .milliseconds(300))
let status = host(
  exercise.descriptor, { hosted($0).turn() }, { hosted($0).tick() }, Unmanaged.passUnretained(exercise).toOpaque())
if status == 0 { exercise.end() } else { print("missing", name) }

func hosted(_ context: UnsafeMutableRawPointer?) -> HostExercise {
  Unmanaged<HostExercise>.fromOpaque(context!).takeUnretainedValue()
}
