internal import Dispatch
internal import Rondo

// `import RondoMain` is all there is to do: the program runs this before `main`, and from then on the main actor is the
// main loop's. Linked from objects, as SwiftPM does it; from an archive, only if something of the module is used.

#if compiler(>=6.3) && compiler(<6.4)

  @section(".init_array") @used
  private let install: @convention(c) () -> Void = { MainExecutors.install { DispatchQueue.main.async(execute: $0) } }

#else
  #error(
    "RondoMain puts async main on the main loop by an interface of Swift 6.3 that this compiler may not have. Use Rondo's LoopProgram."
  )
#endif
