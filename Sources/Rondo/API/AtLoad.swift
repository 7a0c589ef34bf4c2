import CLinux

// The program runs this when it has been loaded, before `main`; a program that loads the library later, on whatever thread
// does so.

@section(".init_array") @used
private let prepareProcess: @convention(c) () -> Void = {
  rondo_fill_standard_descriptors()
  // So that the main thread's end is noticed, even if that thread never asks for a loop.
  if rondo_is_main_thread() != 0 { _ = ThreadRecord.current }
}
