internal import Rondo

extension Listener {
  /// Serves each connection in a task of its own, on a loop of a group. Any thread.
  ///
  /// It is `serve(on:)` with the connections spread over the group: a connection and its task stay on one loop.
  ///
  /// - Parameters:
  ///   - group: Has the loops. Its first one watches the listener.
  ///   - choice: Chooses the loop of a connection.
  ///   - limits: What clients may take of the server, counted in the whole group.
  ///   - grace: How long connections may go on after the cancellation.
  ///   - onError: Called with what a `body` threw, as there.
  /// - Throws: The listener's error, and `.wait(.loopEnded)`; the connections have ended then, too.
  public nonisolated(nonsending) func serve(
    over group: LoopGroup, by choice: LoopGroup.Choice = .leastLoaded, limits: ServerLimits = ServerLimits(),
    grace: Duration = .zero, onError: (@Sendable (any Error) -> Void)? = nil,
    _ body: @escaping @Sendable (Connection) async throws -> Void
  ) async throws(ConnectionError) {
    try await serve(
      on: group.loops[0], limits: limits, grace: grace, in: .common, onError: onError,
      place: {
        let place = group.place(by: choice)
        return (place.loop, { place.leave() })
      }, body)
  }
}
