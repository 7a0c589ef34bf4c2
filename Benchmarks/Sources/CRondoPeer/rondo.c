// Rondo from C: signalled sources for wakes, timeouts for timers in bulk, timers for those that repeat.

#include "rondo_peer.h"

#include <rondo.h>
#include <stdlib.h>

static void *loop_open(bool posts) {
  (void)posts;
  rondo_loop *loop;
  return rondo_loop_current(&loop) < 0 ? NULL : loop;
}

// The thread's: it ends with that.
static void loop_close(void *loop) {
  (void)loop;
}

static void loop_run(void *loop) {
  rondo_loop_run(loop, NULL, RONDO_FOREVER, 0);
}

static void loop_stop(void *loop) {
  rondo_loop_stop(loop);
}

static void loop_poll(void *loop) {
  rondo_loop_run(loop, NULL, 0, 0);
}

// MARK: Wakes, descriptors, observers: each calls a function with the item it is for, which libuv's do as well

typedef struct {
  void *handle;
  bench_callout callout;
  void *context;
} item;

static item *make_item(bench_callout callout, void *context) {
  item *made = malloc(sizeof *made);
  if (made != NULL) *made = (item){NULL, callout, context};
  return made;
}

// The handle keeps the item, and frees it in the end.
static void *add(rondo_loop *loop, int status, item *made) {
  if (status >= 0) {
    rondo_loop_add(loop, made->handle, NULL);
    return made;
  }
  free(made);
  return NULL;
}

static void item_remove(void *opaque) {
  void *handle = ((item *)opaque)->handle;
  rondo_item_invalidate(handle);
  rondo_release(handle);
}

static void performed(rondo_source *source, void *opaque) {
  (void)source;
  item *item = opaque;
  item->callout(item->context);
}

static void *wake_add(void *loop, bench_callout callout, void *context) {
  item *made = make_item(callout, context);
  if (made == NULL) return NULL;
  return add(loop, rondo_source_new((rondo_source **)&made->handle, 0, performed, NULL, NULL, made, free), made);
}

static void wake_send(void *opaque) {
  rondo_source_signal(((item *)opaque)->handle, 0);
}

static void performed_again(rondo_source *source, void *opaque) {
  item *item = opaque;
  rondo_source_signal(source, 0);
  item->callout(item->context);
}

static void *signal_add(void *loop, bench_callout callout, void *context) {
  item *made = make_item(callout, context);
  if (made == NULL) return NULL;
  void *added =
    add(loop, rondo_source_new((rondo_source **)&made->handle, 0, performed_again, NULL, NULL, made, free), made);
  if (added != NULL) wake_send(added);
  return added;
}

static void readable(rondo_descriptor *source, int descriptor, unsigned readiness, void *opaque) {
  (void)source, (void)descriptor, (void)readiness;
  item *item = opaque;
  item->callout(item->context);
}

static void *watch_add(void *loop, int descriptor, bench_callout callout, void *context) {
  item *made = make_item(callout, context);
  if (made == NULL) return NULL;
  int status =
    rondo_descriptor_new((rondo_descriptor **)&made->handle, descriptor, RONDO_READ, 0, 0, readable, made, free);
  return add(loop, status, made);
}

static void observed(rondo_observer *observer, unsigned activity, void *opaque) {
  (void)observer, (void)activity;
  item *item = opaque;
  item->callout(item->context);
}

static void *observer_add(void *loop, bench_callout callout, void *context) {
  item *made = make_item(callout, context);
  if (made == NULL) return NULL;
  int status =
    rondo_observer_new((rondo_observer **)&made->handle, RONDO_BEFORE_WAITING, 0, 0, observed, made, free);
  return add(loop, status, made);
}

static void post(void *loop, size_t count, bench_callout callout, void *context) {
  for (size_t i = 0; i < count; i += 1) rondo_loop_post(loop, NULL, 0, callout, context, NULL);
}

// MARK: Timers

static void ticked(rondo_timer *timer, const rondo_tick *tick, void *opaque) {
  bench_ticks *ticks = opaque;
  bool done = bench_ticks_hit(ticks);
  if (bench_ticks_wants_claim(ticks)) bench_ticks_claim(ticks, tick->scheduled);
  if (done) rondo_item_invalidate(timer);
}

static bool ticks_run(bench_ticks *ticks) {
  rondo_loop *loop = loop_open(false);
  rondo_timer *timer;
  if (loop == NULL || rondo_timer_new(&timer, ticks->first, ticks->interval, 0, ticked, ticks, NULL) < 0) return false;
  rondo_loop_add(loop, timer, NULL);
  rondo_release(timer);
  loop_run(loop);
  return true;
}

typedef struct {
  rondo_loop *loop;
  size_t count;
  rondo_timeout timeouts[];
} bank;

static bank *make_bank(void *loop, size_t count) {
  bank *bank = malloc(sizeof *bank + count * sizeof bank->timeouts[0]);
  if (bank != NULL) {
    bank->loop = loop;
    bank->count = count;
  }
  return bank;
}

static void *shots_add(void *loop, size_t count, const int64_t *dues, bench_callout callout, void *context) {
  bank *bank = make_bank(loop, count);
  for (size_t i = 0; bank != NULL && i < count; i += 1) {
    rondo_timeout_new(&bank->timeouts[i], loop, NULL, dues[i], 0, callout, context);
  }
  return bank;
}

static void *timers_make(void *loop, size_t count, bench_callout callout, void *context) {
  bank *bank = make_bank(loop, count);
  for (size_t i = 0; bank != NULL && i < count; i += 1) {
    rondo_timeout_new(&bank->timeouts[i], loop, NULL, RONDO_FOREVER, 0, callout, context);
  }
  return bank;
}

static void timers_start(void *opaque, const int64_t *dues) {
  bank *bank = opaque;
  for (size_t i = 0; i < bank->count; i += 1) rondo_timeout_arm(bank->loop, bank->timeouts[i], dues[i]);
}

static void timers_stop(void *opaque, const size_t *order) {
  bank *bank = opaque;
  for (size_t i = 0; i < bank->count; i += 1) rondo_timeout_disarm(bank->loop, bank->timeouts[order[i]]);
}

static void shots_cancel(void *opaque, const size_t *order) {
  bank *bank = opaque;
  for (size_t i = 0; i < bank->count; i += 1) rondo_timeout_discard(bank->loop, bank->timeouts[order[i]]);
}

// Those that have fired are dormant.
static void bank_free(void *opaque) {
  bank *bank = opaque;
  for (size_t i = 0; i < bank->count; i += 1) rondo_timeout_discard(bank->loop, bank->timeouts[i]);
  free(bank);
}

typedef struct {
  bench_callout callout;
  void *context;
  size_t count;
  rondo_timer *timers[];
} repeats;

static void repeated(rondo_timer *timer, const rondo_tick *tick, void *opaque) {
  (void)timer, (void)tick;
  repeats *all = opaque;
  all->callout(all->context);
}

static void repeats_remove(void *opaque) {
  repeats *all = opaque;
  for (size_t i = 0; i < all->count; i += 1) {
    rondo_item_invalidate(all->timers[i]);
    rondo_release(all->timers[i]);
  }
  free(all);
}

static void *repeats_add(
  void *loop, size_t count, const int64_t *dues, int64_t interval, int64_t tolerance, bench_callout callout,
  void *context) {
  repeats *all = malloc(sizeof *all + count * sizeof all->timers[0]);
  if (all == NULL) return NULL;
  *all = (repeats){.callout = callout, .context = context, .count = count};
  for (size_t i = 0; i < count; i += 1) {
    rondo_timer_new(&all->timers[i], dues[i], interval, 0, repeated, all, NULL);
    rondo_timer_set_tolerance(all->timers[i], tolerance);
    rondo_loop_add(loop, all->timers[i], NULL);
  }
  return all;
}

const bench_peer bench_peer_rondo_c = {
  .name = "rondo.c",
  .summary = "the C API: rondo_source, rondo_descriptor, rondo_timeout, rondo_loop_post",
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
  .post = post,
  .ticks_run = ticks_run,
  .shots_add = shots_add,
  .shots_cancel = shots_cancel,
  .shots_free = bank_free,
  .timers_make = timers_make,
  .timers_start = timers_start,
  .timers_stop = timers_stop,
  .timers_free = bank_free,
  .repeats_add = repeats_add,
  .repeats_remove = repeats_remove,
  .has_tolerance = true,
};
