internal import Dispatch
internal import Rondo

// `import RondoMain` is all there is to do: the program runs this before `main`, and from then on the main actor is the
// main loop's, if the compiler is one that Rondo was tried with: see RuntimeInsides.swift. Linked from objects, as SwiftPM
// does it; from an archive, only if something of the module is used.

#if compiler(>=6.3) && compiler(<6.4) && !RONDO_UNTRIED_COMPILER

  @section(".init_array") @used
  private let install: @convention(c) () -> Void = { MainExecutors.install { DispatchQueue.main.async(execute: $0) } }

#endif
