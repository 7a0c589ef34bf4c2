// GLib's main loop: sources with a ready time for wakes and timers, fd sources, idle sources for blocks.

#include "peers.h"
#include "shots.h"

#if __has_include(<glib.h>)

#include <glib-unix.h>
#include <glib.h>
#include <stdio.h>
#include <stdlib.h>

static const char *version(void) {
  static char text[16];
  snprintf(text, sizeof text, "%u.%u.%u", glib_major_version, glib_minor_version, glib_micro_version);
  return text;
}

typedef struct {
  GMainContext *context;
  GMainLoop *loop;
} glib_loop;

static void *loop_open(bool posts) {
  (void)posts;
  glib_loop *made = malloc(sizeof *made);
  if (made == NULL) return NULL;
  made->context = g_main_context_new();
  made->loop = g_main_loop_new(made->context, FALSE);
  return made;
}

static void loop_close(void *opaque) {
  glib_loop *loop = opaque;
  g_main_loop_unref(loop->loop);
  g_main_context_unref(loop->context);
  free(loop);
}

static void loop_run(void *opaque) {
  glib_loop *loop = opaque;
  g_main_loop_run(loop->loop);
}

static void loop_stop(void *opaque) {
  glib_loop *loop = opaque;
  g_main_loop_quit(loop->loop);
}

static void loop_poll(void *opaque) {
  glib_loop *loop = opaque;
  g_main_context_iteration(loop->context, FALSE);
}

static void source_remove(void *source) {
  g_source_destroy(source);
  g_source_unref(source);
}

// MARK: Sources with a ready time: wakes and timers

typedef struct {
  GSource source;
  bench_callout callout;
  void *context;
  gint64 due;
  gint64 interval;
} timed_source;

static gboolean dispatch_once(GSource *source, GSourceFunc callback, gpointer data) {
  (void)callback;
  (void)data;
  timed_source *timed = (timed_source *)source;
  g_source_set_ready_time(source, -1);
  timed->callout(timed->context);
  return G_SOURCE_CONTINUE;
}

static gboolean dispatch_again(GSource *source, GSourceFunc callback, gpointer data) {
  (void)callback;
  (void)data;
  timed_source *timed = (timed_source *)source;
  timed->callout(timed->context);
  timed->due += timed->interval;
  g_source_set_ready_time(source, timed->due);
  return G_SOURCE_CONTINUE;
}

static GSourceFuncs once = {.dispatch = dispatch_once};
static GSourceFuncs again = {.dispatch = dispatch_again};

static GSource *timed_add(
  glib_loop *loop, GSourceFuncs *functions, gint64 due, gint64 interval, bench_callout callout, void *context) {
  timed_source *timed = (timed_source *)g_source_new(functions, sizeof *timed);
  timed->callout = callout;
  timed->context = context;
  timed->due = due;
  timed->interval = interval;
  g_source_set_ready_time(&timed->source, due);
  g_source_attach(&timed->source, loop->context);
  return &timed->source;
}

static void *wake_add(void *loop, bench_callout callout, void *context) {
  return timed_add(loop, &once, -1, 0, callout, context);
}

static void wake_send(void *source) {
  g_source_set_ready_time(source, 0);
}

// MARK: Idle sources and descriptors

typedef struct {
  bench_callout callout;
  void *context;
} call;

static gboolean call_on(gpointer opaque) {
  call *call = opaque;
  call->callout(call->context);
  return G_SOURCE_CONTINUE;
}

static void set_call(GSource *source, GSourceFunc function, bench_callout callout, void *context) {
  call *made = malloc(sizeof *made);
  if (made == NULL) abort();
  *made = (call){callout, context};
  g_source_set_callback(source, function, made, free);
}

static GSource *idle_source(bench_callout callout, void *context, GSourceFunc function) {
  GSource *source = g_idle_source_new();
  g_source_set_priority(source, G_PRIORITY_DEFAULT);
  set_call(source, function, callout, context);
  return source;
}

static void *signal_add(void *opaque, bench_callout callout, void *context) {
  glib_loop *loop = opaque;
  GSource *source = idle_source(callout, context, call_on);
  g_source_attach(source, loop->context);
  return source;
}

static gboolean call_once(gpointer opaque) {
  call *call = opaque;
  call->callout(call->context);
  return G_SOURCE_REMOVE;
}

/// What g_main_context_invoke does off the context's thread; on it, that would call at once and post nothing.
static void post(void *opaque, size_t count, bench_callout callout, void *context) {
  glib_loop *loop = opaque;
  for (size_t i = 0; i < count; i += 1) {
    GSource *source = idle_source(callout, context, call_once);
    g_source_attach(source, loop->context);
    g_source_unref(source);
  }
}

static gboolean readable(gint descriptor, GIOCondition condition, gpointer opaque) {
  (void)descriptor;
  (void)condition;
  call *call = opaque;
  call->callout(call->context);
  return G_SOURCE_CONTINUE;
}

static void *watch_add(void *opaque, int descriptor, bench_callout callout, void *context) {
  glib_loop *loop = opaque;
  GSource *source = g_unix_fd_source_new(descriptor, G_IO_IN);
  set_call(source, G_SOURCE_FUNC(readable), callout, context);
  g_source_attach(source, loop->context);
  return source;
}

// MARK: Timers: microseconds of CLOCK_MONOTONIC, rounded up so that nothing is early

static gint64 microseconds(int64_t due) {
  return (due + 999) / 1000;
}

typedef struct {
  glib_loop *loop;
  GSource *source;
  bench_ticks *ticks;
} ticker;

static void ticked(void *opaque) {
  ticker *ticker = opaque;
  if (bench_ticks_hit(ticker->ticks)) {
    loop_stop(ticker->loop);
  } else {
    g_source_set_ready_time(ticker->source, microseconds(bench_ticks_due(ticker->ticks, ticker->ticks->next)));
  }
}

static bool ticks_run(bench_ticks *ticks) {
  ticker ticker = {.loop = loop_open(false), .ticks = ticks};
  if (ticker.loop == NULL) return false;
  ticker.source = timed_add(ticker.loop, &once, microseconds(ticks->first), 0, ticked, &ticker);
  loop_run(ticker.loop);
  source_remove(ticker.source);
  loop_close(ticker.loop);
  return true;
}

// The context has the only reference, and gives it up when the source is destroyed.
static void *shots_add(void *opaque, size_t count, const int64_t *dues, bench_callout callout, void *context) {
  glib_loop *loop = opaque;
  shots *bank = make_shots(loop, count);
  for (size_t i = 0; i < count; i += 1) {
    GSource *source = g_timeout_source_new(0);
    set_call(source, call_once, callout, context);
    g_source_set_ready_time(source, microseconds(dues[i]));
    g_source_attach(source, loop->context);
    g_source_unref(source);
    bank->timers[i] = source;
  }
  return bank;
}

static void shots_cancel(void *opaque, const size_t *order) {
  shots *bank = opaque;
  for (size_t i = 0; i < bank->count; i += 1) g_source_destroy(bank->timers[order[i]]);
}

typedef struct {
  size_t count;
  GSource *sources[];
} timers;

static timers *make_bank(size_t count) {
  timers *bank = malloc(sizeof *bank + count * sizeof bank->sources[0]);
  if (bank != NULL) bank->count = count;
  return bank;
}

static void *timers_make(void *loop, size_t count, bench_callout callout, void *context) {
  timers *bank = make_bank(count);
  for (size_t i = 0; bank != NULL && i < count; i += 1) {
    bank->sources[i] = timed_add(loop, &once, -1, 0, callout, context);
  }
  return bank;
}

static void timers_start(void *opaque, const int64_t *dues) {
  timers *bank = opaque;
  for (size_t i = 0; i < bank->count; i += 1) g_source_set_ready_time(bank->sources[i], microseconds(dues[i]));
}

static void timers_stop(void *opaque, const size_t *order) {
  timers *bank = opaque;
  for (size_t i = 0; i < bank->count; i += 1) g_source_set_ready_time(bank->sources[order[i]], -1);
}

static void timers_free(void *opaque) {
  timers *bank = opaque;
  for (size_t i = 0; i < bank->count; i += 1) source_remove(bank->sources[i]);
  free(bank);
}

static void *repeats_add(
  void *loop, size_t count, const int64_t *dues, int64_t interval, int64_t tolerance, bench_callout callout,
  void *context) {
  (void)tolerance;
  timers *bank = make_bank(count);
  for (size_t i = 0; bank != NULL && i < count; i += 1) {
    bank->sources[i] = timed_add(loop, &again, microseconds(dues[i]), interval / 1000, callout, context);
  }
  return bank;
}

const bench_peer bench_peer_glib = {
  .name = "glib",
  .summary = "GLib's GMainContext: sources with a ready time, fd sources, idle sources",
  .version = version,
  .open = loop_open,
  .close = loop_close,
  .run = loop_run,
  .stop = loop_stop,
  .poll = loop_poll,
  .wake_add = wake_add,
  .wake_send = wake_send,
  .wake_remove = source_remove,
  .signal_add = signal_add,
  .signal_remove = source_remove,
  .watch_add = watch_add,
  .watch_remove = source_remove,
  // Every turn hands every descriptor to poll(2).
  .watch_limit = 1000,
  .post = post,
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

const bench_peer bench_peer_glib = {
  .name = "glib",
  .summary = "GLib's GMainContext",
  .absence = "install libglib2.0-dev",
};

#endif
