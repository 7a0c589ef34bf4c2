// libevent by itself, set up as well as one can: no locks unless blocks are posted, an eventfd watched edge-triggered
// for wakes, precise timers.

#include "peers.h"
#include "shots.h"

#if __has_include(<event2/event.h>)

#include <event2/event.h>
#include <event2/event_struct.h>
#include <event2/thread.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

static struct event_base *make_base(int flags) {
  struct event_config *config = event_config_new();
  if (config == NULL) return NULL;
  event_config_set_flag(config, flags);
  struct event_base *base = event_base_new_with_config(config);
  event_config_free(config);
  return base;
}

static void use_threads(void) {
  evthread_use_pthreads();
}

static void *loop_open(bool posts) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  if (posts) pthread_once(&once, use_threads);
  return make_base(posts ? 0 : EVENT_BASE_FLAG_NOLOCK);
}

static void loop_close(void *base) {
  event_base_free(base);
}

static void loop_run(void *base) {
  event_base_loop(base, EVLOOP_NO_EXIT_ON_EMPTY);
}

static void loop_stop(void *base) {
  event_base_loopbreak(base);
}

static void loop_poll(void *base) {
  event_base_loop(base, EVLOOP_NONBLOCK);
}

// MARK: Wakes and descriptors

typedef struct {
  struct event event;
  bench_callout callout;
  void *context;
  int own_descriptor;
} item;

static void called(evutil_socket_t descriptor, short what, void *opaque) {
  (void)descriptor;
  (void)what;
  item *item = opaque;
  item->callout(item->context);
}

static void *item_add(
  void *base, int descriptor, int own_descriptor, short what, bench_callout callout, void *context) {
  item *made = malloc(sizeof *made);
  if (made == NULL) return NULL;
  made->callout = callout;
  made->context = context;
  made->own_descriptor = own_descriptor;
  if (event_assign(&made->event, base, descriptor, what | EV_PERSIST, called, made) == 0
      && event_add(&made->event, NULL) == 0) {
    return made;
  }
  free(made);
  return NULL;
}

static void item_remove(void *opaque) {
  item *item = opaque;
  event_del(&item->event);
  if (item->own_descriptor >= 0) close(item->own_descriptor);
  free(item);
}

static void *wake_add(void *base, bench_callout callout, void *context) {
  int descriptor = bench_eventfd(0);
  return descriptor < 0 ? NULL : item_add(base, descriptor, descriptor, EV_READ | EV_ET, callout, context);
}

static void wake_send(void *opaque) {
  item *item = opaque;
  uint64_t one = 1;
  ssize_t written = write(item->own_descriptor, &one, sizeof one);
  (void)written;  // A failed write is a lost wake, and the sender counts those.
}

static void *watch_add(void *base, int descriptor, bench_callout callout, void *context) {
  return item_add(base, descriptor, -1, EV_READ, callout, context);
}

// MARK: Posts

typedef struct {
  bench_callout callout;
  void *context;
} block;

static void run_block(evutil_socket_t descriptor, short what, void *opaque) {
  (void)descriptor;
  (void)what;
  block *made = opaque;
  block copy = *made;
  free(made);
  copy.callout(copy.context);
}

static void post(void *base, size_t count, bench_callout callout, void *context) {
  for (size_t i = 0; i < count; i += 1) {
    block *made = malloc(sizeof *made);
    if (made == NULL) abort();
    *made = (block){callout, context};
    event_base_once(base, -1, EV_TIMEOUT, run_block, made, NULL);
  }
}

// MARK: Timers

/// libevent knows relative microseconds only, counted from its clock cut down to a microsecond: round up from there.
static struct timeval delay_until(int64_t due) {
  int64_t delay = (due + 999) / 1000 - bench_now() / 1000;
  if (delay < 0) delay = 0;
  return (struct timeval){.tv_sec = delay / 1000000, .tv_usec = delay % 1000000};
}

typedef struct {
  struct event_base *base;
  struct event *timer;
  bench_ticks *ticks;
  int64_t due;
} ticker;

static void arm(ticker *ticker, int64_t due) {
  struct timeval after = delay_until(due);
  ticker->due = due;
  event_add(ticker->timer, &after);
}

static void ticked(evutil_socket_t descriptor, short what, void *opaque) {
  (void)descriptor;
  (void)what;
  ticker *ticker = opaque;
  bool done = bench_ticks_hit(ticker->ticks);
  if (bench_ticks_wants_claim(ticker->ticks)) bench_ticks_claim(ticker->ticks, ticker->due);
  if (!done) arm(ticker, bench_ticks_due(ticker->ticks, ticker->ticks->next));
}

static bool ticks_run(bench_ticks *ticks) {
  ticker ticker = {.ticks = ticks};
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

typedef struct {
  struct event *event;
  bench_callout callout;
  void *context;
} shot;

static void shot_free(shot *shot) {
  event_free(shot->event);
  free(shot);
}

static void shot_fired(evutil_socket_t descriptor, short what, void *opaque) {
  (void)descriptor;
  (void)what;
  shot *shot = opaque;
  shot->callout(shot->context);
  shot_free(shot);
}

static void *shots_add(void *base, size_t count, const int64_t *dues, bench_callout callout, void *context) {
  shots *bank = make_shots(base, count);
  for (size_t i = 0; i < count; i += 1) {
    shot *made = shot_memory(sizeof *made);
    struct timeval after = delay_until(dues[i]);
    *made = (shot){event_new(base, -1, 0, shot_fired, made), callout, context};
    event_add(made->event, &after);
    bank->timers[i] = made;
  }
  return bank;
}

static void shots_cancel(void *opaque, const size_t *order) {
  shots *bank = opaque;
  for (size_t i = 0; i < bank->count; i += 1) shot_free(bank->timers[order[i]]);
}

typedef struct timers timers;

typedef struct {
  struct event event;
  timers *bank;
  int64_t due;
} timer;

struct timers {
  bench_callout callout;
  void *context;
  size_t count;
  int64_t interval;
  timer timers[];
};

static timers *make_bank(size_t count, bench_callout callout, void *context) {
  timers *bank = malloc(sizeof *bank + count * sizeof bank->timers[0]);
  if (bank != NULL) {
    bank->callout = callout;
    bank->context = context;
    bank->count = count;
  }
  return bank;
}

static void fired(evutil_socket_t descriptor, short what, void *opaque) {
  (void)descriptor;
  (void)what;
  timers *bank = opaque;
  bank->callout(bank->context);
}

static void *timers_make(void *base, size_t count, bench_callout callout, void *context) {
  timers *bank = make_bank(count, callout, context);
  for (size_t i = 0; bank != NULL && i < count; i += 1) {
    event_assign(&bank->timers[i].event, base, -1, 0, fired, bank);
  }
  return bank;
}

static void timers_start(void *opaque, const int64_t *dues) {
  timers *bank = opaque;
  for (size_t i = 0; i < bank->count; i += 1) {
    struct timeval after = delay_until(dues[i]);
    event_add(&bank->timers[i].event, &after);
  }
}

static void timers_stop(void *opaque, const size_t *order) {
  timers *bank = opaque;
  for (size_t i = 0; i < bank->count; i += 1) event_del(&bank->timers[order[i]].event);
}

static void repeated(evutil_socket_t descriptor, short what, void *opaque) {
  (void)descriptor;
  (void)what;
  timer *timer = opaque;
  timer->bank->callout(timer->bank->context);
  timer->due += timer->bank->interval;
  struct timeval after = delay_until(timer->due);
  event_add(&timer->event, &after);
}

static void *repeats_add(
  void *base, size_t count, const int64_t *dues, int64_t interval, int64_t tolerance, bench_callout callout,
  void *context) {
  (void)tolerance;
  timers *bank = make_bank(count, callout, context);
  if (bank == NULL) return NULL;
  bank->interval = interval;
  for (size_t i = 0; i < count; i += 1) {
    timer *timer = &bank->timers[i];
    timer->bank = bank;
    timer->due = dues[i];
    struct timeval after = delay_until(dues[i]);
    event_assign(&timer->event, base, -1, 0, repeated, timer);
    event_add(&timer->event, &after);
  }
  return bank;
}

static void repeats_remove(void *opaque) {
  timers *bank = opaque;
  for (size_t i = 0; i < bank->count; i += 1) event_del(&bank->timers[i].event);
  free(bank);
}

const bench_peer bench_peer_libevent = {
  .name = "libevent",
  .summary = "libevent alone: eventfd for wakes, its own precise timers",
  .version = event_get_version,
  .open = loop_open,
  .close = loop_close,
  .run = loop_run,
  .stop = loop_stop,
  .poll = loop_poll,
  .wake_add = wake_add,
  .wake_send = wake_send,
  .wake_remove = item_remove,
  .signal_refusal = "an event made active in its own callback runs again in the same turn",
  .watch_add = watch_add,
  .watch_remove = item_remove,
  .post = post,
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

const bench_peer bench_peer_libevent = {
  .name = "libevent",
  .summary = "libevent alone",
  .absence = "install libevent-dev",
};

#endif
