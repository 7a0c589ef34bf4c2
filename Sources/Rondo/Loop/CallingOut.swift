// The only functions that enter user code. Each keeps its frame, so a backtrace says what kind of callout runs.

/// Calls out.
@inline(never)
func callOutObserver(_ observer: Loop.Observer, _ activity: Loop.Activity) {
  observer.handler?(activity)
  CalloutBarrier.keepFrame()
}

/// Calls out.
@inline(never)
func callOutTimer(_ timer: Loop.Timer, _ tick: Loop.Timer.Tick) {
  timer.handler?(tick)
  CalloutBarrier.keepFrame()
}

/// Calls out.
@inline(never)
func callOutTimeout(_ handler: () -> Void) {
  handler()
  CalloutBarrier.keepFrame()
}

/// Calls out.
@inline(never)
func callOutSource(_ source: Loop.Source) {
  source.performHandler?()
  CalloutBarrier.keepFrame()
}

/// Calls out.
@inline(never)
func callOutDescriptorSource(_ source: Loop.DescriptorSource, _ readiness: Loop.DescriptorSource.Readiness) {
  source.handler?(source, readiness)
  CalloutBarrier.keepFrame()
}

/// Calls out.
@inline(never)
func callOutBlock(_ block: () -> Void) {
  block()
  CalloutBarrier.keepFrame()
}

/// Calls out.
@inline(never)
func callOutMainQueue() {
  MainQueue.drain()
  CalloutBarrier.keepFrame()
}

/// Calls out.
@inline(never)
func callOutJob(_ job: QueuedJob) {
  job.run()
  CalloutBarrier.keepFrame()
}
