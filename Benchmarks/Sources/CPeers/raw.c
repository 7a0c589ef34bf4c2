// The physical limit: epoll, an edge-triggered eventfd that is never read, and a timerfd with absolute times.

#include "peers.h"

#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

// As many as a small loop would ask for; one is ready in these workloads.
enum { batch = 16 };

static int watch_edges(int descriptor) {
  int epoll = epoll_create1(EPOLL_CLOEXEC);
  struct epoll_event event = {.events = EPOLLIN | EPOLLET, .data = {.fd = descriptor}};
  if (epoll >= 0 && epoll_ctl(epoll, EPOLL_CTL_ADD, descriptor, &event) != 0) {
    close(epoll);
    return -1;
  }
  return epoll;
}

// MARK: Wakes

typedef struct {
  int epoll;
  int event;
  bench_meter *meter;
} raw_loop;

static void wake_close(void *opaque) {
  raw_loop *loop = opaque;
  if (loop->epoll >= 0) close(loop->epoll);
  if (loop->event >= 0) close(loop->event);
  free(loop);
}

static void *wake_open(bench_meter *meter) {
  raw_loop *loop = malloc(sizeof *loop);
  if (loop == NULL) return NULL;
  loop->meter = meter;
  loop->event = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  loop->epoll = watch_edges(loop->event);
  if (loop->event >= 0 && loop->epoll >= 0) return loop;
  wake_close(loop);
  return NULL;
}

static void wake_run(void *opaque) {
  raw_loop *loop = opaque;
  for (;;) {
    struct epoll_event events[batch];
    int count = epoll_wait(loop->epoll, events, batch, -1);
    for (int i = 0; i < count; i += 1) {
      if (events[i].data.fd == loop->event && bench_meter_hit(loop->meter)) return;
    }
  }
}

static void wake_send(void *opaque) {
  raw_loop *loop = opaque;
  uint64_t one = 1;
  ssize_t written = write(loop->event, &one, sizeof one);
  (void)written;  // A failed write is a lost wake, and the sender counts those.
}

// MARK: Timers

static void arm(int timer, int64_t due) {
  struct itimerspec when = {.it_value = {.tv_sec = due / 1000000000, .tv_nsec = due % 1000000000}};
  timerfd_settime(timer, TFD_TIMER_ABSTIME, &when, NULL);
}

static bool ticks_run(bench_ticks *ticks) {
  int timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
  int epoll = watch_edges(timer);
  bool done = timer < 0 || epoll < 0;
  bool opened = !done;
  int64_t due = ticks->first;
  if (opened) arm(timer, due);
  while (!done) {
    struct epoll_event events[batch];
    if (epoll_wait(epoll, events, batch, -1) <= 0) continue;
    done = bench_ticks_hit(ticks);
    if (bench_ticks_wants_claim(ticks)) bench_ticks_claim(ticks, due);
    due = bench_ticks_due(ticks, ticks->next);
    if (!done) arm(timer, due);
  }
  if (epoll >= 0) close(epoll);
  if (timer >= 0) close(timer);
  return opened;
}

const bench_peer bench_peer_raw = {
  .name = "raw",
  .summary = "epoll, edge-triggered eventfd, absolute timerfd: the limit",
  .wake_open = wake_open,
  .wake_run = wake_run,
  .wake_send = wake_send,
  .wake_close = wake_close,
  .ticks_run = ticks_run,
};
