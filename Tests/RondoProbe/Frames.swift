import Rondo

/// Which of the loop's functions stand above a callout of each kind, and whether the loop sleeps in one of its own.
func probeFrames() {
  let symbols = Symbols()
  let loop = Loop.main
  let told = { @Sendable (kind: String) in
    let names = symbols.frames()
    // A mangled name spells the function out, after its length.
    let callOut = names.first { $0.contains("callOut") } ?? "none"
    let run = names.contains { $0.contains("8runTurns") } ? "in-run" : "outside"
    report(kind, "\(callOut) \(run)")
  }
  loop.add(Loop.Timer(after: .zero) { _ in told("timer") })
  let source = Loop.Source { told("source") }
  loop.add(source)
  source.signal()
  loop.add(
    try! Loop.DescriptorSource(readyDescriptor(), for: .read) { source, _ in
      told("descriptor")
      source.invalidate()
    })
  loop.add(Loop.Observer(.beforeSources, repeats: false) { _ in told("observer") })
  loop.perform { told("block") }
  Task(executorPreference: loop) { told("job") }
  Task { @MainActor in
    told("main-queue")
    loop.stop()
  }
  loop.run()
  report("sleep-function", symbols.contains("13sleepInKernel"))
}
