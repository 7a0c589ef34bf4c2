// libevent by itself, set up as well as one can: no locks, an eventfd watched edge-triggered, precise timers.

#include "peers.h"

#if __has_include(<event2/event.h>)

#include <event2/event.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

static struct event_base *make_base(int flags) {
  struct event_config *config = event_config_new();
  if (config == NULL) return NULL;
  event_config_set_flag(config, flags);
  struct event_base *base = event_base_new_with_config(config);
  event_config_free(config);
  return base;
}

// MARK: Wakes

typedef struct {
  struct event_base *base;
  struct event *wake;
  int event;
  bench_meter *meter;
} libevent_loop;

static void woken(evutil_socket_t descriptor, short what, void *opaque) {
  (void)descriptor;
  (void)what;
  libevent_loop *loop = opaque;
  if (bench_meter_hit(loop->meter)) event_base_loopbreak(loop->base);
}

static void wake_close(void *opaque) {
  libevent_loop *loop = opaque;
  if (loop->wake != NULL) event_free(loop->wake);
  if (loop->base != NULL) event_base_free(loop->base);
  if (loop->event >= 0) close(loop->event);
  free(loop);
}

static void *wake_open(bench_meter *meter) {
  libevent_loop *loop = calloc(1, sizeof *loop);
  if (loop == NULL) return NULL;
  loop->meter = meter;
  loop->event = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  loop->base = make_base(EVENT_BASE_FLAG_NOLOCK);
  if (loop->event >= 0 && loop->base != NULL) {
    loop->wake = event_new(loop->base, loop->event, EV_READ | EV_PERSIST | EV_ET, woken, loop);
    if (loop->wake != NULL && event_add(loop->wake, NULL) == 0) return loop;
  }
  wake_close(loop);
  return NULL;
}

static void wake_run(void *opaque) {
  libevent_loop *loop = opaque;
  event_base_dispatch(loop->base);
}

static void wake_send(void *opaque) {
  libevent_loop *loop = opaque;
  uint64_t one = 1;
  ssize_t written = write(loop->event, &one, sizeof one);
  (void)written;  // A failed write is a lost wake, and the sender counts those.
}

// MARK: Timers

typedef struct {
  struct event_base *base;
  struct event *timer;
  bench_ticks *ticks;
  int64_t due;
} libevent_ticker;

/// libevent knows relative microseconds only, counted from its clock cut down to a microsecond: round up from there.
static void arm(libevent_ticker *ticker, int64_t due) {
  int64_t now = bench_now() / 1000;
  int64_t delay = (due + 999) / 1000 - now;
  if (delay < 0) delay = 0;
  struct timeval after = {.tv_sec = delay / 1000000, .tv_usec = delay % 1000000};
  ticker->due = due;
  event_add(ticker->timer, &after);
}

static void ticked(evutil_socket_t descriptor, short what, void *opaque) {
  (void)descriptor;
  (void)what;
  libevent_ticker *ticker = opaque;
  bool done = bench_ticks_hit(ticker->ticks);
  if (bench_ticks_wants_claim(ticker->ticks)) bench_ticks_claim(ticker->ticks, ticker->due);
  if (!done) arm(ticker, bench_ticks_due(ticker->ticks, ticker->ticks->next));
}

static bool ticks_run(bench_ticks *ticks) {
  libevent_ticker ticker = {.ticks = ticks};
  // Without the cached time a delay counts from now, not from the start of the turn.
  ticker.base = make_base(EVENT_BASE_FLAG_NOLOCK | EVENT_BASE_FLAG_PRECISE_TIMER | EVENT_BASE_FLAG_NO_CACHE_TIME);
  if (ticker.base == NULL) return false;
  ticker.timer = evtimer_new(ticker.base, ticked, &ticker);
  bool opened = ticker.timer != NULL;
  if (opened) {
    arm(&ticker, ticks->first);
    event_base_dispatch(ticker.base);
    event_free(ticker.timer);
  }
  event_base_free(ticker.base);
  return opened;
}

const bench_peer bench_peer_libevent = {
  .name = "libevent",
  .summary = "libevent alone: eventfd for wakes, its own precise timers",
  .wake_open = wake_open,
  .wake_run = wake_run,
  .wake_send = wake_send,
  .wake_close = wake_close,
  .ticks_run = ticks_run,
};

#else

const bench_peer bench_peer_libevent = {
  .name = "libevent",
  .summary = "libevent alone",
  .absence = "built without libevent's headers",
};

#endif
