// What the kernel and a processor allow a precise timer, without a loop: the limits beside `rondo.precise`.
//
// One sleeps as exactly as the kernel lets a thread sleep, the other does not sleep. They have one timer and nothing else.

#define _GNU_SOURCE
#include "peers.h"

#include <errno.h>
#include <sched.h>
#include <sys/epoll.h>
#include <unistd.h>

/// Counts the tick that is due; true after the last.
static bool serve(bench_ticks *ticks, int64_t *due) {
  bool done = bench_ticks_hit(ticks);
  if (bench_ticks_wants_claim(ticks)) bench_ticks_claim(ticks, *due);
  *due = bench_ticks_due(ticks, ticks->next);
  return done;
}

// MARK: Asleep, before all others

/// How the calling thread was scheduled.
typedef struct {
  int policy;
  struct sched_param parameters;
} scheduling;

/// The lowest real-time priority: ordinary threads yield to it, and no other real-time thread does.
static bool become_first(scheduling *old) {
  struct sched_param first = {.sched_priority = 1};
  old->policy = sched_getscheduler(0);
  return old->policy >= 0 && sched_getparam(0, &old->parameters) == 0 && sched_setscheduler(0, SCHED_FIFO, &first) == 0;
}

static void become_as_before(const scheduling *old) {
  sched_setscheduler(0, old->policy, &old->parameters);
}

static const char *fifo_refusal(void) {
  scheduling old;
  if (!become_first(&old)) return "SCHED_FIFO is not permitted (RLIMIT_RTPRIO, CAP_SYS_NICE)";
  become_as_before(&old);
  return NULL;
}

static bool fifo_run(bench_ticks *ticks) {
  scheduling old;
  if (!become_first(&old)) return false;
  int64_t due = ticks->first;
  bool done = false;
  while (!done) {
    struct timespec when = {.tv_sec = due / 1000000000, .tv_nsec = due % 1000000000};
    // A signal may end the sleep before the date.
    if (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &when, NULL) == EINTR) continue;
    done = serve(ticks, &due);
  }
  become_as_before(&old);
  return true;
}

const bench_peer bench_peer_raw_fifo = {
  .name = "raw.fifo",
  .summary = "clock_nanosleep under SCHED_FIFO and no loop: the limit of a thread that sleeps; one timer alone",
  .ticks_run = fifo_run,
  .ticks_refusal = fifo_refusal,
};

// MARK: Awake

/// Between two looks for events: a loop that spins takes them within some microseconds.
static const int64_t spin_poll_interval = 10000;

static bool spin_run(bench_ticks *ticks) {
  int wake = bench_eventfd(0);
  int epoll = epoll_create1(EPOLL_CLOEXEC);
  struct epoll_event event = {.events = EPOLLIN | EPOLLET, .data = {.fd = wake}};
  bool opened = wake >= 0 && epoll >= 0 && epoll_ctl(epoll, EPOLL_CTL_ADD, wake, &event) == 0;
  bool done = !opened;
  int64_t due = ticks->first;
  int64_t next_poll = bench_now();
  while (!done) {
    int64_t now = bench_now();
    if (now >= due) {
      done = serve(ticks, &due);
    } else if (now >= next_poll) {
      struct epoll_event events[16];
      epoll_wait(epoll, events, 16, 0);
      next_poll = now + spin_poll_interval;
    }
  }
  if (epoll >= 0) close(epoll);
  if (wake >= 0) close(wake);
  return opened;
}

const bench_peer bench_peer_raw_spin = {
  .name = "raw.spin",
  .summary = "a loop that never sleeps, and polls epoll every 10 us: the limit of one that spins; one timer alone",
  .ticks_run = spin_run,
  .spins = true,
};
