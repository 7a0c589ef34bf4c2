import CStart
import Dispatch

DispatchQueue.main.asyncAfter(deadline: .now()) { start_reached() }
dispatchMain()
