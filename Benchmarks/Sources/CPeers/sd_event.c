// systemd's sd-event: io sources, one of them an eventfd of ours for wakes, and time sources with an accuracy.

#include "peers.h"
#include "shots.h"

#if __has_include(<systemd/sd-event.h>)

#include <stdlib.h>
#include <systemd/sd-event.h>
#include <unistd.h>

typedef struct {
  sd_event *event;
  bool stops;
} sd_loop;

static void *loop_open(bool posts) {
  (void)posts;
  sd_loop *loop = calloc(1, sizeof *loop);
  if (loop == NULL || sd_event_new(&loop->event) >= 0) return loop;
  free(loop);
  return NULL;
}

static void loop_close(void *opaque) {
  sd_loop *loop = opaque;
  sd_event_unref(loop->event);
  free(loop);
}

/// What sd_event_loop does; its end by sd_event_exit would be the end of the event object.
static void loop_run(void *opaque) {
  sd_loop *loop = opaque;
  loop->stops = false;
  while (!loop->stops && sd_event_run(loop->event, UINT64_MAX) >= 0) {
  }
}

static void loop_stop(void *opaque) {
  sd_loop *loop = opaque;
  loop->stops = true;
}

static void loop_poll(void *opaque) {
  sd_loop *loop = opaque;
  sd_event_run(loop->event, 0);
}

// MARK: Wakes, deferred sources, descriptors

typedef struct {
  sd_event_source *source;
  bench_callout callout;
  void *context;
  int own_descriptor;
} item;

static item *make_item(bench_callout callout, void *context, int own_descriptor) {
  item *made = malloc(sizeof *made);
  if (made != NULL) *made = (item){NULL, callout, context, own_descriptor};
  return made;
}

static void item_remove(void *opaque) {
  item *item = opaque;
  sd_event_source_disable_unref(item->source);
  if (item->own_descriptor >= 0) close(item->own_descriptor);
  free(item);
}

static void *keep_if(int status, item *made) {
  if (status >= 0) return made;
  item_remove(made);
  return NULL;
}

static int ready(sd_event_source *source, int descriptor, uint32_t events, void *opaque) {
  (void)source;
  (void)descriptor;
  (void)events;
  item *item = opaque;
  item->callout(item->context);
  return 0;
}

static void *io_add(
  void *opaque, int descriptor, int own_descriptor, uint32_t events, bench_callout callout, void *context) {
  sd_loop *loop = opaque;
  item *made = make_item(callout, context, own_descriptor);
  if (made == NULL) return NULL;
  return keep_if(sd_event_add_io(loop->event, &made->source, descriptor, events, ready, made), made);
}

static void *wake_add(void *loop, bench_callout callout, void *context) {
  int descriptor = bench_eventfd(0);
  return descriptor < 0 ? NULL : io_add(loop, descriptor, descriptor, EPOLLIN | EPOLLET, callout, context);
}

static void wake_send(void *opaque) {
  item *item = opaque;
  uint64_t one = 1;
  ssize_t written = write(item->own_descriptor, &one, sizeof one);
  (void)written;  // A failed write is a lost wake, and the sender counts those.
}

static void *watch_add(void *loop, int descriptor, bench_callout callout, void *context) {
  return io_add(loop, descriptor, -1, EPOLLIN, callout, context);
}

static int deferred(sd_event_source *source, void *opaque) {
  (void)source;
  item *item = opaque;
  item->callout(item->context);
  return 0;
}

static void *signal_add(void *opaque, bench_callout callout, void *context) {
  sd_loop *loop = opaque;
  item *made = make_item(callout, context, -1);
  if (made == NULL) return NULL;
  int status = sd_event_add_defer(loop->event, &made->source, deferred, made);
  if (status >= 0) status = sd_event_source_set_enabled(made->source, SD_EVENT_ON);
  return keep_if(status, made);
}

// MARK: Timers: microseconds, rounded up so that nothing is early; an accuracy of 0 would mean 250 ms

static uint64_t microseconds(int64_t due) {
  return ((uint64_t)due + 999) / 1000;
}

typedef struct {
  sd_loop *loop;
  bench_ticks *ticks;
  int64_t due;
} ticker;

static int ticked(sd_event_source *source, uint64_t at, void *opaque) {
  (void)at;
  ticker *ticker = opaque;
  bool done = bench_ticks_hit(ticker->ticks);
  if (bench_ticks_wants_claim(ticker->ticks)) bench_ticks_claim(ticker->ticks, ticker->due);
  if (done) {
    loop_stop(ticker->loop);
    return 0;
  }
  ticker->due = bench_ticks_due(ticker->ticks, ticker->ticks->next);
  sd_event_source_set_time(source, microseconds(ticker->due));
  return sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
}

static bool ticks_run(bench_ticks *ticks) {
  ticker ticker = {.loop = loop_open(false), .ticks = ticks, .due = ticks->first};
  if (ticker.loop == NULL) return false;
  sd_event_source *source = NULL;
  int status = sd_event_add_time(
    ticker.loop->event, &source, CLOCK_MONOTONIC, microseconds(ticks->first), 1, ticked, &ticker);
  if (status >= 0) loop_run(ticker.loop);
  sd_event_source_disable_unref(source);
  loop_close(ticker.loop);
  return status >= 0;
}

typedef struct {
  sd_event_source *source;
  bench_callout callout;
  void *context;
} shot;

static void shot_free(shot *shot) {
  sd_event_source_disable_unref(shot->source);
  free(shot);
}

static int shot_fired(sd_event_source *source, uint64_t at, void *opaque) {
  (void)source;
  (void)at;
  shot *shot = opaque;
  shot->callout(shot->context);
  shot_free(shot);
  return 0;
}

static void *shots_add(void *opaque, size_t count, const int64_t *dues, bench_callout callout, void *context) {
  sd_loop *loop = opaque;
  shots *bank = make_shots(loop, count);
  for (size_t i = 0; i < count; i += 1) {
    shot *made = shot_memory(sizeof *made);
    *made = (shot){NULL, callout, context};
    sd_event_add_time(loop->event, &made->source, CLOCK_MONOTONIC, microseconds(dues[i]), 1, shot_fired, made);
    bank->timers[i] = made;
  }
  return bank;
}

static void shots_cancel(void *opaque, const size_t *order) {
  shots *bank = opaque;
  for (size_t i = 0; i < bank->count; i += 1) shot_free(bank->timers[order[i]]);
}

typedef struct {
  bench_callout callout;
  void *context;
  uint64_t interval;
  size_t count;
  sd_event_source *sources[];
} timers;

static int fired(sd_event_source *source, uint64_t at, void *opaque) {
  timers *bank = opaque;
  bank->callout(bank->context);
  if (bank->interval == 0) return 0;
  sd_event_source_set_time(source, at + bank->interval);
  return sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
}

static timers *make_bank(
  sd_loop *loop, size_t count, int64_t interval, int64_t accuracy, bench_callout callout, void *context) {
  timers *bank = malloc(sizeof *bank + count * sizeof bank->sources[0]);
  if (bank == NULL) return NULL;
  bank->callout = callout;
  bank->context = context;
  bank->interval = (uint64_t)interval / 1000;
  bank->count = count;
  uint64_t slack = accuracy >= 1000 ? (uint64_t)accuracy / 1000 : 1;
  for (size_t i = 0; i < count; i += 1) {
    bank->sources[i] = NULL;
    sd_event_add_time(loop->event, &bank->sources[i], CLOCK_MONOTONIC, UINT64_MAX, slack, fired, bank);
    sd_event_source_set_enabled(bank->sources[i], SD_EVENT_OFF);
  }
  return bank;
}

static void *timers_make(void *loop, size_t count, bench_callout callout, void *context) {
  return make_bank(loop, count, 0, 0, callout, context);
}

static void timers_start(void *opaque, const int64_t *dues) {
  timers *bank = opaque;
  for (size_t i = 0; i < bank->count; i += 1) {
    sd_event_source_set_time(bank->sources[i], microseconds(dues[i]));
    sd_event_source_set_enabled(bank->sources[i], SD_EVENT_ONESHOT);
  }
}

static void timers_stop(void *opaque, const size_t *order) {
  timers *bank = opaque;
  for (size_t i = 0; i < bank->count; i += 1) sd_event_source_set_enabled(bank->sources[order[i]], SD_EVENT_OFF);
}

static void timers_free(void *opaque) {
  timers *bank = opaque;
  for (size_t i = 0; i < bank->count; i += 1) sd_event_source_disable_unref(bank->sources[i]);
  free(bank);
}

static void *repeats_add(
  void *loop, size_t count, const int64_t *dues, int64_t interval, int64_t tolerance, bench_callout callout,
  void *context) {
  timers *bank = make_bank(loop, count, interval, tolerance, callout, context);
  if (bank != NULL) timers_start(bank, dues);
  return bank;
}

const bench_peer bench_peer_sd_event = {
  .name = "sd-event",
  .summary = "systemd's sd-event: io sources (an eventfd for wakes), time sources of 1 us accuracy",
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
  .post_refusal = "posts no blocks: no other thread may touch it",
  .ticks_run = ticks_run,
  .shots_add = shots_add,
  .shots_cancel = shots_cancel,
  .shots_free = free,
  .timers_make = timers_make,
  .timers_start = timers_start,
  .timers_stop = timers_stop,
  .timers_free = timers_free,
  // One fire a turn, and every turn looks at the kernel.
  .fire_limit = 10000,
  .repeats_add = repeats_add,
  .repeats_remove = timers_free,
  .has_tolerance = true,
};

#else

const bench_peer bench_peer_sd_event = {
  .name = "sd-event",
  .summary = "systemd's sd-event",
  .absence = "install libsystemd-dev",
};

#endif
