import CLibevent

/// A descriptor source's registration with the wait set of one mode. *loop thread*
@safe struct DescriptorWatch {
  /// The mode's index.
  let mode: Int
  /// libevent's event and where it reports.
  let raw: UnsafeMutablePointer<rondo_watch>
  /// What the kernel has been asked for.
  var interest: Loop.DescriptorSource.Readiness
}

extension Loop.DescriptorSource.Readiness {
  /// libevent's flags for an interest, without the trigger.
  var libeventFlags: CShort {
    var flags: CInt = 0
    if contains(.read) { flags |= EV_READ }
    if contains(.write) { flags |= EV_WRITE }
    if contains(.closed) { flags |= EV_CLOSED }
    return CShort(flags)
  }
}
