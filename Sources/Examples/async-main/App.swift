import Dispatch
import Rondo
import RondoAsync
import RondoMain

@main struct App {
  static func main() async {
    DispatchQueue.main.async { print("the main queue, on the main thread:", Loop.main.isCurrent) }
    for await _ in Loop.main.ticks(every: .milliseconds(10)) {
      print("main, on the main thread:", Loop.main.isCurrent)
      break
    }
  }
}
