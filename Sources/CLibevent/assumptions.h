// What the wait layer leans on in libevent that its manual does not promise. LibeventAssumptionTests has a test for each
// number. Of 5, it does not test the largest lot. Of 6, it tests that the function is there; other tests count a loop's
// descriptors and see the message of an exit.
//
// 1. A registration in the epoll set has the descriptor as its data, and the kernel's names for what was asked for.
// 2. event_add(3) on a number under which another file is open by now registers that file, and leaves ENOENT in errno.
//    event_del(3) of a number whose file is not in the set leaves ENOENT, of a closed one EBADF. Where all is well, both
//    leave errno alone.
// 3. A second event of a descriptor, with the trigger of the first, costs an epoll_ctl(2) for what it adds, and none if it
//    adds nothing.
// 4. An error, or a hang-up of both sides, is told as readable and writable, and not as closed.
// 5. A base takes 32 events at a time at first, and twice as many after a full lot, up to 4,096.
// 6. A base makes a pair of descriptors for signals, and calls exit(3) with 1 if there are no descriptors for it.
//    `evsig_dealloc_` closes the pair, and event_base_free(3) finds it closed.
// 7. A base with PRECISE_TIMER has a timerfd in its epoll set, and sets it for the next timeout whenever it waits.
//
// The number of the epoll set is found, not assumed: `EventBase.findEpoll`.
#pragma once

// MARK: - 1

static inline uint32_t rondo_epoll_events(uint16_t flags) {
  return (flags & EV_READ ? (uint32_t)EPOLLIN : 0) | (flags & EV_WRITE ? (uint32_t)EPOLLOUT : 0) |
         (flags & EV_CLOSED ? (uint32_t)EPOLLRDHUP : 0) | (flags & EV_ET ? (uint32_t)EPOLLET : 0);
}

// What libevent has registered for a descriptor with these flags.
static inline struct epoll_event rondo_registration(uint16_t flags, int descriptor) {
  return (struct epoll_event){.events = rondo_epoll_events(flags), .data = {.fd = descriptor}};
}

// MARK: - 2

// After event_add(3), with errno 0 before: another file was open under the number, and is registered now.
static inline int rondo_has_added_instead(void) { return errno == ENOENT; }

// After event_del(3), with errno 0 before: the file under the number was not the one in the set, or there is none.
static inline int rondo_has_deleted_none(void) { return errno == ENOENT || errno == EBADF; }

// MARK: - 5

// The most libevent takes from the kernel at a time, and what it begins with.
enum { rondo_least_batch = 32, rondo_largest_batch = 4096 };

// MARK: - 6

// libevent's own function that closes a base's pair of signal descriptors; event_base_free(3) finds them closed. A base
// of ours never hears of signals. Not declared by its headers, hence weak: without it a base keeps the pair.
__attribute__((weak)) extern void evsig_dealloc_(struct event_base *);

static inline int rondo_knows_signal_pair(void) {
  uint32_t version = event_get_version_number() >> 16;
  return evsig_dealloc_ && version >= 0x0201 && version <= 0x0202;
}

// Set while this thread makes a base: libevent ends the process with exit(1) if it cannot make the pair.
static __thread int rondo_is_making_base = 0;

static void rondo_no_silent_exit(void) {
  if (!rondo_is_making_base) return;
  static const char complaint[] =
      "Rondo: libevent needed three descriptors for a moment, and another thread took the last one. Raise the limit "
      "with setrlimit(2) or `ulimit -n`.\n";
  ssize_t written = write(2, complaint, sizeof complaint - 1);
  (void)written;
  abort();
}

// Once in a process, before its first base.
static inline void rondo_watch_exit(void) { atexit(rondo_no_silent_exit); }

// No lock (one thread), no clock reads (the loop has its own timers), no environment variables.
//
// Costs one descriptor, and three for a moment. They are tried for first, because libevent calls exit(3) if it gets only
// one or two. NULL and errno if there are none.
//
// One for other people's events may be locked and signalled, and has a timerfd, which it is not told if it cannot have.
static inline struct event_base *rondo_base_new(int *lowest, int is_foreign) {
  int probes[4] = {-1, -1, -1, -1};
  int needed = is_foreign ? 4 : 3;
  int error = 0;
  probes[0] = epoll_create1(EPOLL_CLOEXEC);
  for (int index = 1; index < needed && probes[index - 1] >= 0; index++) {
    probes[index] = fcntl(probes[0], F_DUPFD_CLOEXEC, 0);
  }
  if (probes[needed - 1] < 0) error = errno;
  *lowest = probes[0];
  for (int index = 0; index < needed; index++) {
    if (probes[index] >= 0) close(probes[index]);
  }
  struct event_config *config = error ? NULL : event_config_new();
  if (!config) {
    errno = error ? error : ENOMEM;
    return NULL;
  }
  event_config_set_flag(config, is_foreign ? EVENT_BASE_FLAG_PRECISE_TIMER | EVENT_BASE_FLAG_IGNORE_ENV
                                           : EVENT_BASE_FLAG_NOLOCK | EVENT_BASE_FLAG_NO_CACHE_TIME |
                                                 EVENT_BASE_FLAG_IGNORE_ENV);
  event_config_require_features(config, EV_FEATURE_ET);
  rondo_is_making_base = 1;
  errno = 0;
  struct event_base *base = event_base_new_with_config(config);
  error = errno;
  rondo_is_making_base = 0;
  event_config_free(config);
  if (base && !is_foreign && rondo_knows_signal_pair()) evsig_dealloc_(base);
  errno = base || error ? error : ENOMEM;
  return base;
}
