import Glibc
import Rondo
import RondoSockets

/// What systemd is told, beside the daemon's life: sd_notify(3). Without systemd, these do nothing.
extension Daemon {
  /// Whether systemd manages the process: NOTIFY_SOCKET names a Unix-domain socket.
  package var isManaged: Bool { manager != nil }

  func tell(_ news: ServiceState) {
    manager?.tell(news)
  }

  /// Sets the status text that `systemctl status` shows, at most 1 KiB of it. Any thread.
  public func setStatus(_ text: String) {
    tell(.status(text))
  }

  /// Gives the start or the stop so much more time, from now on. Any thread.
  ///
  /// Use it before ``ready()`` if the start may take longer than the unit's TimeoutStartSec=. The daemon itself asks for
  /// the time that a drain may take. See EXTEND_TIMEOUT_USEC in sd_notify(3).
  public func extendTimeout(by time: Duration) {
    tell(.extended(time))
  }

  /// Has systemd end the process as if its watchdog had run out, and says why. Any thread.
  ///
  /// Call it from a thread that watches the loop, as `StallMonitor` of RondoInspect has one: then the journal and the
  /// status name the callout that is stuck. See WATCHDOG=trigger in sd_notify(3).
  ///
  /// - Parameter reason: One line. It goes to stderr as well.
  public func triggerWatchdog(_ reason: String) {
    warn("the watchdog is triggered: \(reason)")
    tell(.status("Stuck: \(reason)"))
    tell(.stuck)
  }

  /// Has systemd keep a copy of a descriptor for the service's next process. Any thread.
  ///
  /// The next one gets it by its name: from ``listener(_:at:backlog:options:)``, ``socket(_:at:or:)``, or
  /// ``ActivatedDescriptor``. The unit needs FileDescriptorStoreMax=. systemd keeps one descriptor of a file, and closes
  /// it when the peer ends a connection. See FDSTORE=1 in sd_notify(3).
  ///
  /// - Parameter name: 1 to 255 printable characters of ASCII, without a colon.
  /// - Throws: `.notOpen`; `.notifySocket` if no descriptor is left.
  public func store(_ descriptor: CInt, as name: String) throws(DaemonError) {
    NamedSockets.check(name)
    guard let manager else { return }
    let copy = fcntl(descriptor, F_DUPFD_CLOEXEC, CInt(ActivatedDescriptor.first))
    guard copy >= 0 else { throw errno == EBADF ? .notOpen(descriptor) : .notifySocket(.exhausted) }
    manager.tell(.stored(name: name), with: ServiceManager.OwnedDescriptor(copy))
  }

  /// Has systemd close the descriptors that it keeps by a name. Any thread.
  public func removeStored(_ name: String) {
    NamedSockets.check(name)
    tell(.removed(name: name))
  }
}
