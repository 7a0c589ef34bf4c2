import CStart
import Foundation

RunLoop.main.add(Timer(timeInterval: 0, repeats: false) { _ in start_reached() }, forMode: .default)
RunLoop.main.run()
