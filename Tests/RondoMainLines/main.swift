// Top-level code with await, on the main loop: `import RondoMain` is all it does for that.

import CLinux
import Glibc
import RondoMain
import RondoMainGuest
import RondoTestSupport

@concurrent func elsewhere() async -> Bool { rondo_is_main_thread() != 0 }

@inline(never)
func isHome() -> Bool { rondo_is_main_thread() != 0 }

endProcess(after: 300)
var (here, there) = (0, 0)
for _ in 0..<200 {
  if await !elsewhere() { there += 1 }
  if isHome() { here += 1 }
}
print("elsewhere", there)
print("on-main", here)
print("a library's", await returnsHome())
if CommandLine.arguments.count > 1 { exit(7) }
