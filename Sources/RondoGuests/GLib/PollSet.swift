#if GLib
  internal import CLinux
  internal import CRondoGuests
  internal import Glibc

  /// What poll(2) would be given, as one descriptor: an epoll set that is updated each time. *loop thread*
  ///
  /// poll(2) means whatever file is under a number by the time it is called, and remembers nothing. An epoll set remembers
  /// files, those that were closed and are open elsewhere, too. So each of its entries tells once, and each number is
  /// armed again, which finds out whether it stands for another file. A stale entry tells once at most.
  @safe final class PollSet {
    /// *constant* Readable while something that it waits for is ready.
    let epoll: CInt
    /// By descriptor number.
    private var entries: [Entry] = []
    /// The numbers that the set waits for.
    private var numbers: [CInt] = []
    /// Counts the calls of `watch`.
    private var round: UInt32 = 0

    private struct Entry {
      /// Poll's events, in the round.
      var events: UInt32 = 0
      var round: UInt32 = 0
      /// Whether the set has it, as far as is known.
      var isWatched = false
    }

    /// What came of it.
    enum Outcome {
      case watched
      /// Something is ready at once, whatever the set says.
      case ready
      /// Something cannot be watched, and has to be looked at every now and then.
      case unwatchable
    }

    /// No descriptor was left.
    struct Shortage: Error {
      let errno: CInt
    }

    /// How often to look at what cannot be watched, in milliseconds. Chosen: a hundred looks a second are no load.
    static let period: CInt = 10

    init() throws(Shortage) {
      epoll = rondo_pollset_new()
      if epoll < 0 { throw Shortage(errno: errno) }
    }

    deinit { close(epoll) }

    /// Waits for these from now on, and for nothing else. One epoll_ctl(2) for each, and for each that it waited for.
    func watch(_ wanted: ArraySlice<pollfd>) -> Outcome {
      round &+= 1
      var outcome = Outcome.watched
      let old = numbers
      numbers.removeAll(keepingCapacity: true)
      for entry in wanted where entry.fd >= 0 { note(entry) }
      for number in old where entries[Int(number)].round != round { unwatch(number) }
      for number in numbers {
        switch tell(number) {
        case .watched: break
        case .ready: outcome = .ready
        case .unwatchable: if outcome == .watched { outcome = .unwatchable }
        }
      }
      return outcome
    }

    /// Silences the entries that have told, until they are armed again. One epoll_wait(2).
    func forget() { rondo_pollset_silence(epoll) }

    private func note(_ wanted: pollfd) {
      let index = Int(wanted.fd)
      if index >= entries.count {
        entries.append(contentsOf: repeatElement(Entry(), count: index + 1 - entries.count))
      }
      if entries[index].round != round {
        entries[index].round = round
        entries[index].events = 0
        numbers.append(wanted.fd)
      }
      entries[index].events |= UInt32(UInt16(bitPattern: wanted.events))
    }

    /// Has the set wait for a number, whatever file it stands for by now.
    private func tell(_ number: CInt) -> Outcome {
      let entry = entries[Int(number)]
      let events = entry.events
      var error =
        entry.isWatched ? rondo_pollset_change(epoll, number, events) : rondo_pollset_add(epoll, number, events)
      // Another file was under the number: the old one tells once at most.
      if error == ENOENT { error = rondo_pollset_add(epoll, number, events) }
      if error == EEXIST { error = rondo_pollset_change(epoll, number, events) }
      entries[Int(number)].isWatched = error == 0
      switch error {
      case 0: return .watched
      // A file that is always ready, and a number without one: poll(2) returns at once.
      case EPERM, EBADF: return .ready
      default: return .unwatchable
      }
    }

    private func unwatch(_ number: CInt) {
      // Its file was closed since, most likely.
      if entries[Int(number)].isWatched { _ = rondo_pollset_remove(epoll, number) }
      entries[Int(number)] = Entry()
    }
  }
#endif
