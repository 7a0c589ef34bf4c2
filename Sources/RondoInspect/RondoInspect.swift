// `import RondoInspect` is all there is to do: the program reads RONDO_INSPECT before `main`. Linked from objects, as SwiftPM
// does it; from an archive, only if something of the module is used.

@section(".init_array") @used
private let readEnvironment: @convention(c) () -> Void = { Inspector.readEnvironment() }
