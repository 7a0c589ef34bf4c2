import CLinux
import Glibc

/// Whether this is the main thread. Not inlined: the kernel is asked each time.
@inline(never)
func isOnMainThread() -> Bool { rondo_is_main_thread() != 0 }

/// Somewhere else, with something to do there, or the call is none.
@concurrent func elsewhere() async -> Bool { isOnMainThread() }

/// How many threads the process has.
func threadCount() -> Int {
  guard let directory = unsafe opendir("/proc/self/task") else { return -1 }
  defer { unsafe closedir(directory) }
  var count = 0
  while let entry = unsafe readdir(directory) {
    if unsafe entry.pointee.d_name.0 != 46 { count += 1 }
  }
  return count
}

func report(_ name: String, _ value: some Any) {
  print(name, value)
}

/// Has exit(3) call a function that says so.
func reportAtExit() {
  atexit { print("exit handlers called") }
  report("main", "returns")
}
