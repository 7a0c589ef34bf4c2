// libuv: an async handle for wakes, poll handles for descriptors, timers of whole milliseconds.

#include "peers.h"
#include "shots.h"

#if __has_include(<uv.h>)

#include <stdlib.h>
#include <uv.h>

static void free_handle(uv_handle_t *handle) {
  free(handle);
}

static void close_handle(uv_handle_t *handle, void *argument) {
  (void)argument;
  if (!uv_is_closing(handle)) uv_close(handle, NULL);
}

static void *loop_open(bool posts) {
  (void)posts;
  uv_loop_t *loop = malloc(sizeof *loop);
  if (loop == NULL || uv_loop_init(loop) == 0) return loop;
  free(loop);
  return NULL;
}

static void loop_close(void *opaque) {
  uv_loop_t *loop = opaque;
  uv_walk(loop, close_handle, NULL);
  uv_run(loop, UV_RUN_DEFAULT);
  uv_loop_close(loop);
  free(loop);
}

static void loop_run(void *loop) {
  uv_run(loop, UV_RUN_DEFAULT);
}

static void loop_stop(void *loop) {
  uv_stop(loop);
}

static void loop_poll(void *loop) {
  uv_run(loop, UV_RUN_NOWAIT);
}

// MARK: Wakes, descriptors, idle and prepare handles: the handle comes first in each item, and libuv frees it late

typedef struct {
  union {
    uv_handle_t handle;
    uv_async_t async;
    uv_idle_t idle;
    uv_prepare_t prepare;
    uv_poll_t poll;
  } as;
  bench_callout callout;
  void *context;
} item;

static item *make_item(bench_callout callout, void *context) {
  item *made = malloc(sizeof *made);
  if (made != NULL) {
    made->callout = callout;
    made->context = context;
  }
  return made;
}

static void *keep_if(int status, item *made) {
  if (status == 0) return made;
  free(made);
  return NULL;
}

static void item_remove(void *opaque) {
  item *item = opaque;
  uv_close(&item->as.handle, free_handle);
}

static void woken(uv_async_t *handle) {
  item *woken = (item *)handle;
  woken->callout(woken->context);
}

static void *wake_add(void *loop, bench_callout callout, void *context) {
  item *made = make_item(callout, context);
  return made == NULL ? NULL : keep_if(uv_async_init(loop, &made->as.async, woken), made);
}

static void wake_send(void *opaque) {
  item *item = opaque;
  uv_async_send(&item->as.async);
}

static void idled(uv_idle_t *handle) {
  item *idle = (item *)handle;
  idle->callout(idle->context);
}

static void *signal_add(void *loop, bench_callout callout, void *context) {
  item *made = make_item(callout, context);
  if (made == NULL) return NULL;
  uv_idle_init(loop, &made->as.idle);
  return keep_if(uv_idle_start(&made->as.idle, idled), made);
}

static void prepared(uv_prepare_t *handle) {
  item *prepare = (item *)handle;
  prepare->callout(prepare->context);
}

static void *observer_add(void *loop, bench_callout callout, void *context) {
  item *made = make_item(callout, context);
  if (made == NULL) return NULL;
  uv_prepare_init(loop, &made->as.prepare);
  return keep_if(uv_prepare_start(&made->as.prepare, prepared), made);
}

static void readable(uv_poll_t *handle, int status, int events) {
  (void)status;
  (void)events;
  item *poll = (item *)handle;
  poll->callout(poll->context);
}

static void *watch_add(void *loop, int descriptor, bench_callout callout, void *context) {
  item *made = make_item(callout, context);
  if (made == NULL) return NULL;
  if (uv_poll_init(loop, &made->as.poll, descriptor) != 0) return keep_if(-1, made);
  if (uv_poll_start(&made->as.poll, UV_READABLE, readable) == 0) return made;
  item_remove(made);
  return NULL;
}

// MARK: Timers

/// Milliseconds from the loop's time, which is CLOCK_MONOTONIC cut down to one, rounded so that nothing is early.
static uint64_t delay_until(const uv_loop_t *loop, int64_t due) {
  int64_t delay = (due + 999999) / 1000000 - (int64_t)uv_now(loop);
  return delay > 0 ? (uint64_t)delay : 0;
}

typedef struct {
  uv_timer_t timer;
  bench_ticks *ticks;
} ticker;

static void ticked(uv_timer_t *handle) {
  ticker *ticking = (ticker *)handle;
  bool done = bench_ticks_hit(ticking->ticks);
  if (done) {
    uv_stop(handle->loop);
  } else {
    int64_t due = bench_ticks_due(ticking->ticks, ticking->ticks->next);
    uv_timer_start(handle, ticked, delay_until(handle->loop, due), 0);
  }
}

static bool ticks_run(bench_ticks *ticks) {
  uv_loop_t *loop = loop_open(false);
  if (loop == NULL) return false;
  ticker ticker = {.ticks = ticks};
  uv_timer_init(loop, &ticker.timer);
  uv_timer_start(&ticker.timer, ticked, delay_until(loop, ticks->first), 0);
  loop_run(loop);
  loop_close(loop);
  return true;
}

typedef struct {
  uv_timer_t timer;
  bench_callout callout;
  void *context;
} shot;

static void shot_fired(uv_timer_t *timer) {
  shot *shot = timer->data;
  shot->callout(shot->context);
  uv_close((uv_handle_t *)timer, free_handle);
}

static void *shots_add(void *loop, size_t count, const int64_t *dues, bench_callout callout, void *context) {
  shots *bank = make_shots(loop, count);
  uv_update_time(loop);
  for (size_t i = 0; i < count; i += 1) {
    shot *made = shot_memory(sizeof *made);
    uv_timer_init(loop, &made->timer);
    made->timer.data = made;
    made->callout = callout;
    made->context = context;
    uv_timer_start(&made->timer, shot_fired, delay_until(loop, dues[i]), 0);
    bank->timers[i] = made;
  }
  return bank;
}

static void shots_cancel(void *opaque, const size_t *order) {
  shots *bank = opaque;
  for (size_t i = 0; i < bank->count; i += 1) uv_close(bank->timers[order[i]], free_handle);
}

typedef struct {
  uv_loop_t *loop;
  bench_callout callout;
  void *context;
  size_t count;
  size_t closed;
  uv_timer_t timers[];
} timers;

static void fired(uv_timer_t *timer) {
  timers *bank = timer->data;
  bank->callout(bank->context);
}

static void *timers_make(void *loop, size_t count, bench_callout callout, void *context) {
  timers *bank = malloc(sizeof *bank + count * sizeof bank->timers[0]);
  if (bank == NULL) return NULL;
  bank->loop = loop;
  bank->callout = callout;
  bank->context = context;
  bank->count = count;
  bank->closed = 0;
  for (size_t i = 0; i < count; i += 1) {
    uv_timer_init(loop, &bank->timers[i]);
    bank->timers[i].data = bank;
  }
  return bank;
}

static void start_all(timers *bank, const int64_t *dues, uint64_t repeat) {
  uv_update_time(bank->loop);
  for (size_t i = 0; i < bank->count; i += 1) {
    uv_timer_start(&bank->timers[i], fired, delay_until(bank->loop, dues[i]), repeat);
  }
}

static void timers_start(void *bank, const int64_t *dues) {
  start_all(bank, dues, 0);
}

static void timers_stop(void *opaque, const size_t *order) {
  timers *bank = opaque;
  for (size_t i = 0; i < bank->count; i += 1) uv_timer_stop(&bank->timers[order[i]]);
}

static void timer_closed(uv_handle_t *handle) {
  timers *bank = handle->data;
  bank->closed += 1;
  if (bank->closed == bank->count) free(bank);
}

static void timers_free(void *opaque) {
  timers *bank = opaque;
  uv_loop_t *loop = bank->loop;
  size_t count = bank->count;
  for (size_t i = 0; i < count; i += 1) uv_close((uv_handle_t *)&bank->timers[i], timer_closed);
  uv_run(loop, UV_RUN_NOWAIT);
}

static void *repeats_add(
  void *loop, size_t count, const int64_t *dues, int64_t interval, int64_t tolerance, bench_callout callout,
  void *context) {
  (void)tolerance;
  timers *bank = timers_make(loop, count, callout, context);
  if (bank != NULL) start_all(bank, dues, (uint64_t)(interval / 1000000));
  return bank;
}

const bench_peer bench_peer_libuv = {
  .name = "libuv",
  .summary = "libuv: uv_async, uv_poll, uv_timer in whole milliseconds",
  .version = uv_version_string,
  .open = loop_open,
  .close = loop_close,
  .run = loop_run,
  .stop = loop_stop,
  .poll = loop_poll,
  .wake_add = wake_add,
  .wake_send = wake_send,
  .wake_remove = item_remove,
  .signal_add = signal_add,
  .signal_remove = item_remove,
  .watch_add = watch_add,
  .watch_remove = item_remove,
  .observer_add = observer_add,
  .observer_remove = item_remove,
  .post_refusal = "posts no blocks: an async handle merges its signals and carries nothing",
  .ticks_run = ticks_run,
  .shots_add = shots_add,
  .shots_cancel = shots_cancel,
  .shots_free = free,
  .timers_make = timers_make,
  .timers_start = timers_start,
  .timers_stop = timers_stop,
  .timers_free = timers_free,
  .repeats_add = repeats_add,
  .repeats_remove = timers_free,
};

#else

const bench_peer bench_peer_libuv = {
  .name = "libuv",
  .summary = "libuv",
  .absence = "install libuv1-dev",
};

#endif
