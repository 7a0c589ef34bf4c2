// libev: an async watcher for wakes, io watchers for descriptors, timers in seconds as doubles.

#include "peers.h"
#include "shots.h"

#if __has_include(<ev.h>) && defined(RONDO_BENCH_LIBEV)

#include <ev.h>
#include <stdio.h>
#include <stdlib.h>

static const char *version(void) {
  static char text[16];
  snprintf(text, sizeof text, "%d.%d", ev_version_major(), ev_version_minor());
  return text;
}

static void *loop_open(bool posts) {
  (void)posts;
  return ev_loop_new(EVBACKEND_EPOLL);
}

static void loop_close(void *loop) {
  ev_loop_destroy(loop);
}

static void loop_run(void *loop) {
  ev_run(loop, 0);
}

static void loop_stop(void *loop) {
  ev_break(loop, EVBREAK_ONE);
}

static void loop_poll(void *loop) {
  ev_run(loop, EVRUN_NOWAIT);
}

// MARK: Wakes, descriptors, idle and prepare watchers: the watcher comes first in each item

typedef struct {
  union {
    ev_watcher any;
    ev_async async;
    ev_idle idle;
    ev_prepare prepare;
    ev_io io;
  } as;
  struct ev_loop *loop;
  bench_callout callout;
  void *context;
} item;

static item *make_item(struct ev_loop *loop, bench_callout callout, void *context) {
  item *made = calloc(1, sizeof *made);
  if (made == NULL) return NULL;
  made->loop = loop;
  made->callout = callout;
  made->context = context;
  return made;
}

static void call_item(void *watcher) {
  item *called = watcher;
  called->callout(called->context);
}

static void woken(struct ev_loop *loop, ev_async *watcher, int events) {
  (void)loop;
  (void)events;
  call_item(watcher);
}

static void *wake_add(void *loop, bench_callout callout, void *context) {
  item *made = make_item(loop, callout, context);
  if (made == NULL) return NULL;
  ev_async_init(&made->as.async, woken);
  ev_async_start(loop, &made->as.async);
  return made;
}

static void wake_send(void *opaque) {
  item *item = opaque;
  ev_async_send(item->loop, &item->as.async);
}

static void wake_remove(void *opaque) {
  item *item = opaque;
  ev_async_stop(item->loop, &item->as.async);
  free(item);
}

static void idled(struct ev_loop *loop, ev_idle *watcher, int events) {
  (void)loop;
  (void)events;
  call_item(watcher);
}

static void *signal_add(void *loop, bench_callout callout, void *context) {
  item *made = make_item(loop, callout, context);
  if (made == NULL) return NULL;
  ev_idle_init(&made->as.idle, idled);
  ev_idle_start(loop, &made->as.idle);
  return made;
}

static void signal_remove(void *opaque) {
  item *item = opaque;
  ev_idle_stop(item->loop, &item->as.idle);
  free(item);
}

static void prepared(struct ev_loop *loop, ev_prepare *watcher, int events) {
  (void)loop;
  (void)events;
  call_item(watcher);
}

static void *observer_add(void *loop, bench_callout callout, void *context) {
  item *made = make_item(loop, callout, context);
  if (made == NULL) return NULL;
  ev_prepare_init(&made->as.prepare, prepared);
  ev_prepare_start(loop, &made->as.prepare);
  return made;
}

static void observer_remove(void *opaque) {
  item *item = opaque;
  ev_prepare_stop(item->loop, &item->as.prepare);
  free(item);
}

static void readable(struct ev_loop *loop, ev_io *watcher, int events) {
  (void)loop;
  (void)events;
  call_item(watcher);
}

static void *watch_add(void *loop, int descriptor, bench_callout callout, void *context) {
  item *made = make_item(loop, callout, context);
  if (made == NULL) return NULL;
  ev_io_init(&made->as.io, readable, descriptor, EV_READ);
  ev_io_start(loop, &made->as.io);
  return made;
}

static void watch_remove(void *opaque) {
  item *item = opaque;
  ev_io_stop(item->loop, &item->as.io);
  free(item);
}

// MARK: Timers

/// Seconds from `base`, a moment that is not after the loop's time, so that nothing is early.
static ev_tstamp delay_until(int64_t base, int64_t due) {
  return due > base ? (double)(due - base) / 1e9 : 0.;
}

typedef struct {
  ev_timer timer;
  bench_ticks *ticks;
} ticker;

static void ticked(struct ev_loop *loop, ev_timer *watcher, int events) {
  (void)events;
  ticker *ticking = (ticker *)watcher;
  bool done = bench_ticks_hit(ticking->ticks);
  if (done) {
    ev_break(loop, EVBREAK_ONE);
    return;
  }
  int64_t base = bench_now();
  ev_now_update(loop);
  ev_timer_set(watcher, delay_until(base, bench_ticks_due(ticking->ticks, ticking->ticks->next)), 0.);
  ev_timer_start(loop, watcher);
}

static bool ticks_run(bench_ticks *ticks) {
  struct ev_loop *loop = loop_open(false);
  if (loop == NULL) return false;
  ticker ticker = {.ticks = ticks};
  int64_t base = bench_now();
  ev_now_update(loop);
  ev_timer_init(&ticker.timer, ticked, delay_until(base, ticks->first), 0.);
  ev_timer_start(loop, &ticker.timer);
  ev_run(loop, 0);
  ev_loop_destroy(loop);
  return true;
}

typedef struct {
  ev_timer timer;
  bench_callout callout;
  void *context;
} shot;

static void shot_fired(struct ev_loop *loop, ev_timer *watcher, int events) {
  (void)loop;
  (void)events;
  shot *shot = watcher->data;
  shot->callout(shot->context);
  free(shot);
}

static void *shots_add(void *loop, size_t count, const int64_t *dues, bench_callout callout, void *context) {
  shots *bank = make_shots(loop, count);
  int64_t base = bench_now();
  ev_now_update(loop);
  for (size_t i = 0; i < count; i += 1) {
    shot *made = shot_memory(sizeof *made);
    ev_timer_init(&made->timer, shot_fired, delay_until(base, dues[i]), 0.);
    made->timer.data = made;
    made->callout = callout;
    made->context = context;
    ev_timer_start(loop, &made->timer);
    bank->timers[i] = made;
  }
  return bank;
}

static void shots_cancel(void *opaque, const size_t *order) {
  shots *bank = opaque;
  for (size_t i = 0; i < bank->count; i += 1) {
    shot *shot = bank->timers[order[i]];
    ev_timer_stop(bank->loop, &shot->timer);
    free(shot);
  }
}

typedef struct {
  struct ev_loop *loop;
  bench_callout callout;
  void *context;
  size_t count;
  ev_timer timers[];
} timers;

static void fired(struct ev_loop *loop, ev_timer *watcher, int events) {
  (void)loop;
  (void)events;
  timers *bank = watcher->data;
  bank->callout(bank->context);
}

static void *timers_make(void *loop, size_t count, bench_callout callout, void *context) {
  timers *bank = malloc(sizeof *bank + count * sizeof bank->timers[0]);
  if (bank == NULL) return NULL;
  bank->loop = loop;
  bank->callout = callout;
  bank->context = context;
  bank->count = count;
  for (size_t i = 0; i < count; i += 1) {
    ev_init(&bank->timers[i], fired);
    bank->timers[i].data = bank;
  }
  return bank;
}

static void start_all(timers *bank, const int64_t *dues, ev_tstamp repeat) {
  int64_t base = bench_now();
  ev_now_update(bank->loop);
  for (size_t i = 0; i < bank->count; i += 1) {
    ev_timer *timer = &bank->timers[i];
    if (ev_is_active(timer)) ev_timer_stop(bank->loop, timer);
    ev_timer_set(timer, delay_until(base, dues[i]), repeat);
    ev_timer_start(bank->loop, timer);
  }
}

static void timers_start(void *bank, const int64_t *dues) {
  start_all(bank, dues, 0.);
}

static void timers_stop(void *opaque, const size_t *order) {
  timers *bank = opaque;
  for (size_t i = 0; i < bank->count; i += 1) ev_timer_stop(bank->loop, &bank->timers[order[i]]);
}

static void *repeats_add(
  void *loop, size_t count, const int64_t *dues, int64_t interval, int64_t tolerance, bench_callout callout,
  void *context) {
  (void)tolerance;
  timers *bank = timers_make(loop, count, callout, context);
  if (bank != NULL) start_all(bank, dues, (double)interval / 1e9);
  return bank;
}

static void repeats_remove(void *opaque) {
  timers *bank = opaque;
  for (size_t i = 0; i < bank->count; i += 1) ev_timer_stop(bank->loop, &bank->timers[i]);
  free(bank);
}

const bench_peer bench_peer_libev = {
  .name = "libev",
  .summary = "libev: ev_async, ev_io, ev_timer",
  .version = version,
  .open = loop_open,
  .close = loop_close,
  .run = loop_run,
  .stop = loop_stop,
  .poll = loop_poll,
  .wake_add = wake_add,
  .wake_send = wake_send,
  .wake_remove = wake_remove,
  .signal_add = signal_add,
  .signal_remove = signal_remove,
  .watch_add = watch_add,
  .watch_remove = watch_remove,
  .observer_add = observer_add,
  .observer_remove = observer_remove,
  .post_refusal = "posts no blocks: an async watcher merges its signals and carries nothing",
  .ticks_run = ticks_run,
  .shots_add = shots_add,
  .shots_cancel = shots_cancel,
  .shots_free = free,
  .timers_make = timers_make,
  .timers_start = timers_start,
  .timers_stop = timers_stop,
  .timers_free = free,
  .repeats_add = repeats_add,
  .repeats_remove = repeats_remove,
};

#else

const bench_peer bench_peer_libev = {
  .name = "libev",
  .summary = "libev",
  .absence = "install libev-dev",
};

#endif
