import Rondo

/// What SIGHUP does.
extension Daemon {
  enum ReloadHandler {
    case callout(() throws -> Void)
    case task(@Sendable () async throws -> Void)
  }

  /// SIGHUP.
  func hungUp(_ delivery: SignalSource.Delivery) {
    let (reload, isReloading) = handlers.withLock { handlers in
      if handlers.isReloading { handlers.mustReload = true }
      return (handlers.reload, handlers.isReloading)
    }
    if reload.isEmpty { return heard(delivery) }
    if !isStopping, !isReloading { beginReload(reload) }
  }

  /// The loop's thread. Calls out.
  private func beginReload(_ handlers: [ReloadHandler]) {
    tell(.reloading)
    goOnReloading(handlers[...], [])
  }

  /// The loop's thread. Calls out.
  private func goOnReloading(_ handlers: ArraySlice<ReloadHandler>, _ failures: [String]) {
    var (rest, failures) = (handlers, failures)
    while let handler = rest.popFirst() {
      switch handler {
      case .callout(let handler):
        do { try handler() } catch { failures.append("\(error)") }
      case .task(let handler):
        self.handlers.withLock { $0.isReloading = true }
        nonisolated(unsafe) let rest = rest
        Task(executorPreference: loop) { [self, failures] in
          var failures = failures
          do { try await handler() } catch { failures.append("\(error)") }
          unsafe goOnReloading(rest, failures)
        }
        return
      }
    }
    endReload(failures)
  }

  /// The loop's thread. Calls out, for a SIGHUP that came meanwhile.
  private func endReload(_ failures: [String]) {
    let next = handlers.withLock { handlers in
      defer { (handlers.isReloading, handlers.mustReload) = (false, false) }
      return handlers.mustReload ? handlers.reload : []
    }
    if isStopping { return }
    // First, and alone: whatever the manager makes of the errors, the reload has ended.
    tell(.ready)
    if !failures.isEmpty { tell(.status("Reload failed: " + failures.joined(separator: "; "))) }
    if !next.isEmpty { beginReload(next) }
  }
}
