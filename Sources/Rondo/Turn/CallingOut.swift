// The only functions that enter user code. Each keeps its frame, so a backtrace says what kind of callout runs.

/// Calls out.
@inline(never)
func callOutObserver(_ observer: Loop.Observer, _ activity: Loop.Activity) {
  let borrowed = Borrowed(ObserverHandler(call: observer.handler))
  borrowed.handler.call?(activity)
  borrowed.giveBack()
  CalloutBarrier.keepFrame()
}

/// Calls out.
@inline(never)
func callOutTimer(_ timer: Loop.Timer, _ tick: Loop.Timer.Tick) {
  let borrowed = Borrowed(TimerHandler(call: timer.handler))
  borrowed.handler.call?(tick)
  borrowed.giveBack()
  CalloutBarrier.keepFrame()
}

/// Calls out.
@inline(never)
func callOutTimeout(_ handler: TimeoutHandler) {
  Lock.assertNoneHeld()
  switch handler {
  case .closure(let call): call()
  case .function(let call, let context): unsafe call(context)
  }
  CalloutBarrier.keepFrame()
}

/// Calls out.
@inline(never)
func callOutSource(_ source: Loop.Source) {
  let borrowed = Borrowed(SourceHandler(call: source.handler))
  borrowed.handler.call?()
  borrowed.giveBack()
  CalloutBarrier.keepFrame()
}

/// Calls out.
@inline(never)
func callOutDescriptorSource(_ source: Loop.DescriptorSource, _ readiness: Loop.DescriptorSource.Readiness) {
  let borrowed = Borrowed(DescriptorHandler(call: source.handler))
  borrowed.handler.call?(source, readiness)
  borrowed.giveBack()
  CalloutBarrier.keepFrame()
}

/// Calls out.
@inline(never)
func callOutBlock(_ block: () -> Void) {
  Lock.assertNoneHeld()
  block()
  CalloutBarrier.keepFrame()
}

/// Calls out.
@inline(never)
func callOutMainQueue() {
  Lock.assertNoneHeld()
  MainQueue.drain()
  CalloutBarrier.keepFrame()
}

/// Calls out.
@inline(never)
func callOutJob(_ job: QueuedJob) {
  Lock.assertNoneHeld()
  job.run()
  CalloutBarrier.keepFrame()
}

// A structure around each kind of handler: generic code takes a bare function in a form of its own.

private struct ObserverHandler {
  let call: ((Loop.Activity) -> Void)?
}

private struct TimerHandler {
  let call: ((Loop.Timer.Tick) -> Void)?
}

private struct SourceHandler {
  let call: (() -> Void)?
}

private struct DescriptorHandler {
  let call: ((Loop.DescriptorSource, Loop.DescriptorSource.Readiness) -> Void)?
}

/// An item's handler without a count of references, which would cost more than all the rest of a callout.
///
/// What it captured stays: the item's slot holds its handlers, and `retire()` lets go of none whose callout is under way.
@safe private struct Borrowed<Handler>: ~Copyable {
  let handler: Handler

  /// Takes a handler's bits, and no reference.
  @inline(__always)
  init(_ handler: Handler) {
    Lock.assertNoneHeld()
    var bits = unsafe unsafeBitCast(handler, to: (UInt, UInt).self)
    self = unsafe withUnsafeMutablePointer(to: &bits) { bits in
      unsafe UnsafeMutableRawPointer(bits).assumingMemoryBound(to: Borrowed.self).move()
    }
  }

  /// Forgets the handler, which is not this one's to release.
  @inline(__always)
  consuming func giveBack() {
    var bits: (UInt, UInt) = (0, 0)
    var borrowed: Borrowed? = self
    unsafe withUnsafeMutablePointer(to: &bits) { bits in
      unsafe UnsafeMutableRawPointer(bits).assumingMemoryBound(to: Borrowed.self).initialize(to: borrowed.take()!)
    }
  }
}
