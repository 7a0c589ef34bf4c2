import CStart
import Rondo

let loop = Loop.main
loop.add(Loop.Timer(after: .zero) { _ in start_reached() })
loop.run()
