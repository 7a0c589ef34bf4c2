// A library that imports RondoMain, too, as one does that wants its async tests or tools to have the main loop.

internal import CLinux
internal import RondoMain

/// Whether the calling function resumes on the main thread after one that does not run there.
@MainActor public func returnsHome() async -> Bool {
  await awayFromHome()
  return rondo_is_main_thread() != 0
}

@concurrent private func awayFromHome() async {}
