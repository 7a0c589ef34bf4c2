import CStart
import CoreFoundation

let timer = CFRunLoopTimerCreateWithHandler(kCFAllocatorDefault, 0, 0, 0, 0) { _ in start_reached() }
CFRunLoopAddTimer(CFRunLoopGetCurrent(), timer, kCFRunLoopDefaultMode)
CFRunLoopRun()
