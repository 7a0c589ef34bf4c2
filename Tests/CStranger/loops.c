// What a loop does: timers, timeouts, sources, descriptors, observers, modes, runs, as the header says.

#include "support.h"

// What was called, in order: words and a space.
typedef struct trace {
  char text[512];
} trace;

static void note(trace *trace, const char *word) {
  size_t length = strlen(trace->text);
  snprintf(trace->text + length, sizeof trace->text - length, "%s ", word);
}

#define SAW(trace, expected) CHECK(strcmp((trace).text, expected) == 0)

// MARK: - Timers

typedef struct named {
  trace *trace;
  const char *name;
  rondo_tick tick;
  int calls, limit;
  rondo_timer *timer;
} named;

static void on_named(rondo_timer *timer, const rondo_tick *tick, void *opaque) {
  named *named = opaque;
  named->tick = *tick;
  named->calls += 1;
  note(named->trace, named->name);
  if (named->timer != timer) note(named->trace, "stranger");
  if (tick->actual < tick->scheduled) note(named->trace, "early");
  if (named->calls == named->limit) rondo_item_invalidate(timer);
}

static const char *timers(void) {
  trace trace = {{0}};
  rondo_loop *loop;
  DO(rondo_loop_current(&loop));
  // A date that has passed when the timer is made would count as now.
  const int64_t soon = 200 * RONDO_MILLISECOND;
  int64_t now = rondo_now();
  named first = {.trace = &trace, .name = "first"}, second = {.trace = &trace, .name = "second"};
  named low = {.trace = &trace, .name = "low"};
  DO(rondo_timer_new(&second.timer, now + 2 * soon, 0, 0, on_named, &second, NULL));
  DO(rondo_timer_new(&first.timer, now + soon, 0, 0, on_named, &first, NULL));
  DO(rondo_timer_new(&low.timer, now + 2 * soon, 0, -1, on_named, &low, NULL));
  DO(rondo_loop_add(loop, second.timer, NULL));
  DO(rondo_loop_add(loop, first.timer, RONDO_DEFAULT_MODE));
  DO(rondo_loop_add(loop, low.timer, RONDO_COMMON_MODES));
  int64_t date;
  DO(rondo_loop_next_date(loop, NULL, &date));
  CHECK(date == now + soon);
  DO(rondo_timer_date(first.timer, &date));
  CHECK(date == now + soon);
  CHECK(rondo_loop_run(loop, NULL, RONDO_FOREVER, 0) == RONDO_FINISHED);
  SAW(trace, "first low second ");
  CHECK(first.tick.scheduled == now + soon && first.tick.missed == 0);
  DO(rondo_loop_next_date(loop, NULL, &date));
  CHECK(date == RONDO_FOREVER);
  DO(rondo_release(first.timer));
  DO(rondo_release(second.timer));
  DO(rondo_release(low.timer));
  return NULL;
}

static const char *repeating_timer(void) {
  trace trace = {{0}};
  rondo_loop *loop;
  DO(rondo_loop_current(&loop));
  // A grid point has passed: fires at once, once for both.
  int64_t origin = rondo_now() + RONDO_MILLISECOND;
  named named = {.trace = &trace, .name = "tick", .limit = 3};
  DO(rondo_timer_new(&named.timer, origin, RONDO_MILLISECOND, 0, on_named, &named, NULL));
  DO(rondo_timer_set_tolerance(named.timer, RONDO_MICROSECOND));
  int64_t value;
  DO(rondo_timer_tolerance(named.timer, &value));
  CHECK(value == RONDO_MICROSECOND);
  DO(rondo_timer_interval(named.timer, &value));
  CHECK(value == RONDO_MILLISECOND);
  DO(rondo_loop_add(loop, named.timer, NULL));
  CHECK(rondo_loop_run(loop, NULL, RONDO_FOREVER, 0) == RONDO_FINISHED);
  SAW(trace, "tick tick tick ");
  CHECK((named.tick.scheduled - origin) % RONDO_MILLISECOND == 0);
  DO(rondo_release(named.timer));
  return NULL;
}

static const char *timer_fired_by_hand(void) {
  trace trace = {{0}};
  rondo_loop *loop;
  DO(rondo_loop_current(&loop));
  named named = {.trace = &trace, .name = "tick"};
  DO(rondo_timer_new(&named.timer, RONDO_FOREVER / 8, RONDO_SECOND, 0, on_named, &named, NULL));
  DO(rondo_loop_add(loop, named.timer, NULL));
  DO(rondo_timer_fire(named.timer));
  CHECK(named.calls == 1 && rondo_item_is_valid(named.timer) == 1);
  DO(rondo_timer_set_interval(named.timer, 2 * RONDO_SECOND));
  DO(rondo_timer_set_date(named.timer, 0));
  CHECK(rondo_loop_run(loop, NULL, 0, 0) == RONDO_TIMED_OUT);
  CHECK(named.calls == 2);
  DO(rondo_loop_remove(loop, named.timer, NULL));
  FAILS(RONDO_ERROR_ABSENT, rondo_loop_remove(loop, named.timer, NULL));
  DO(rondo_timer_set_date(named.timer, 0));
  CHECK(rondo_loop_run(loop, NULL, 0, 0) == RONDO_FINISHED);
  CHECK(named.calls == 2);
  DO(rondo_release(named.timer));
  return NULL;
}

// MARK: - Timeouts

typedef struct limit {
  rondo_loop *loop;
  rondo_timeout timeout;
  int calls, again;
} limit;

static void on_limit(void *opaque) {
  limit *limit = opaque;
  limit->calls += 1;
  if (limit->calls < limit->again) rondo_timeout_arm(limit->loop, limit->timeout, rondo_now());
  if (limit->calls == limit->again) rondo_timeout_discard(limit->loop, limit->timeout);
}

static const char *timeouts(void) {
  limit once = {0}, thrice = {.again = 3}, common = {0};
  DO(rondo_loop_current(&once.loop));
  rondo_loop *loop = thrice.loop = common.loop = once.loop;
  DO(rondo_timeout_new(&once.timeout, loop, NULL, RONDO_FOREVER, 0, on_limit, &once));
  DO(rondo_timeout_new(&thrice.timeout, loop, RONDO_DEFAULT_MODE, RONDO_FOREVER, RONDO_MICROSECOND, on_limit, &thrice));
  DO(rondo_timeout_new(&common.timeout, loop, RONDO_COMMON_MODES, RONDO_FOREVER, 0, on_limit, &common));
  int64_t date;
  DO(rondo_timeout_date(loop, once.timeout, &date));
  CHECK(date == RONDO_FOREVER);
  // Dormant ones are nothing to run for.
  CHECK(rondo_loop_run(loop, NULL, RONDO_FOREVER, 0) == RONDO_FINISHED);
  int64_t now = rondo_now();
  DO(rondo_timeout_arm(loop, once.timeout, now + RONDO_SECOND));
  DO(rondo_timeout_arm(loop, once.timeout, now + RONDO_MILLISECOND));
  DO(rondo_timeout_date(loop, once.timeout, &date));
  CHECK(date == now + RONDO_MILLISECOND);
  DO(rondo_timeout_arm(loop, thrice.timeout, now));
  DO(rondo_timeout_arm(loop, common.timeout, now));
  DO(rondo_timeout_disarm(loop, common.timeout));
  DO(rondo_timeout_arm(loop, common.timeout, now));
  DO(rondo_timeout_arm(loop, common.timeout, RONDO_FOREVER));
  DO(rondo_timeout_date(loop, common.timeout, &date));
  CHECK(date == RONDO_FOREVER);
  limit armed = {0};
  DO(rondo_timeout_new(&armed.timeout, loop, NULL, now + 1, 0, on_limit, &armed));
  CHECK(rondo_loop_run(loop, NULL, RONDO_FOREVER, 0) == RONDO_FINISHED);
  CHECK(once.calls == 1 && thrice.calls == 3 && common.calls == 0 && armed.calls == 1);
  FAILS(RONDO_ERROR_HANDLE, rondo_timeout_arm(loop, thrice.timeout, now));
  FAILS(RONDO_ERROR_HANDLE, rondo_timeout_date(loop, thrice.timeout, &date));
  DO(rondo_timeout_discard(loop, once.timeout));
  FAILS(RONDO_ERROR_HANDLE, rondo_timeout_discard(loop, once.timeout));
  FAILS(RONDO_ERROR_HANDLE, rondo_timeout_disarm(loop, once.timeout));
  rondo_timeout none = {0, 0}, far = {1, (uint64_t)1 << 40};
  FAILS(RONDO_ERROR_HANDLE, rondo_timeout_arm(loop, none, now));
  FAILS(RONDO_ERROR_HANDLE, rondo_timeout_arm(loop, far, now));
  CHECK(rondo_loop_run(loop, NULL, 0, 0) == RONDO_FINISHED);
  CHECK(once.calls == 1);
  return NULL;
}

// MARK: - Sources

typedef struct heard {
  trace trace;
  rondo_source *source;
  int calls, again;
} heard;

static void on_perform(rondo_source *source, void *opaque) {
  heard *heard = opaque;
  heard->calls += 1;
  note(&heard->trace, source == heard->source ? "perform" : "stranger");
  if (heard->calls < heard->again) rondo_source_signal(source, 0);
}

static void on_schedule(rondo_source *source, rondo_loop *loop, const char *mode, void *opaque) {
  (void)source;
  heard *heard = opaque;
  rondo_loop *current = NULL;
  rondo_loop_current(&current);
  note(&heard->trace, loop == current ? "+" : "+stranger");
  note(&heard->trace, mode);
}

static void on_cancel(rondo_source *source, rondo_loop *loop, const char *mode, void *opaque) {
  (void)source, (void)loop;
  heard *heard = opaque;
  note(&heard->trace, "-");
  note(&heard->trace, mode);
}

static const char *sources(void) {
  heard heard = {.again = 2};
  rondo_loop *loop;
  DO(rondo_loop_current(&loop));
  DO(rondo_source_new(&heard.source, 0, on_perform, on_schedule, on_cancel, &heard, NULL));
  DO(rondo_loop_add(loop, heard.source, "a"));
  DO(rondo_loop_add(loop, heard.source, "a"));
  DO(rondo_loop_add(loop, heard.source, "b"));
  CHECK(rondo_loop_contains(loop, heard.source, "b") == 1 && rondo_loop_contains(loop, heard.source, NULL) == 0);
  DO(rondo_source_signal(heard.source, RONDO_QUIETLY));
  CHECK(rondo_source_is_signalled(heard.source) == 1);
  CHECK(rondo_loop_run(loop, "a", RONDO_FOREVER, RONDO_ONE_SOURCE) == RONDO_HANDLED_SOURCE);
  CHECK(rondo_loop_run(loop, "b", RONDO_FOREVER, RONDO_ONE_SOURCE) == RONDO_HANDLED_SOURCE);
  CHECK(rondo_source_is_signalled(heard.source) == 0);
  CHECK(rondo_loop_run(loop, "b", RONDO_MILLISECOND, RONDO_ONE_SOURCE) == RONDO_TIMED_OUT);
  DO(rondo_loop_remove(loop, heard.source, "a"));
  DO(rondo_item_invalidate(heard.source));
  SAW(heard.trace, "+ a + b perform perform - a - b ");
  FAILS(RONDO_ERROR_INVALID, rondo_source_signal(heard.source, 0));
  DO(rondo_release(heard.source));
  return NULL;
}

// MARK: - Descriptors

typedef struct piped {
  int ends[2];
  int calls;
  unsigned readiness;
  int descriptor;
} piped;

static void on_ready(rondo_descriptor *source, int descriptor, unsigned readiness, void *opaque) {
  (void)source;
  piped *piped = opaque;
  piped->calls += 1;
  piped->readiness = readiness;
  piped->descriptor = descriptor;
}

static const char *descriptors(void) {
  piped piped = {0};
  rondo_loop *loop;
  rondo_descriptor *source;
  DO(rondo_loop_current(&loop));
  CHECK(pipe(piped.ends) == 0);
  DO(rondo_descriptor_new(&source, piped.ends[0], RONDO_READ, 0, 0, on_ready, &piped, NULL));
  DO(rondo_loop_add(loop, source, NULL));
  CHECK(rondo_loop_run(loop, NULL, 0, 0) == RONDO_TIMED_OUT && piped.calls == 0);
  CHECK(write(piped.ends[1], "x", 1) == 1);
  // Level-triggered: told in every turn, and nothing is read.
  CHECK(rondo_loop_run(loop, NULL, 0, 0) == RONDO_TIMED_OUT && piped.calls == 1);
  CHECK(rondo_loop_run(loop, NULL, RONDO_FOREVER, RONDO_ONE_SOURCE) == RONDO_HANDLED_SOURCE && piped.calls == 2);
  CHECK(piped.readiness == RONDO_READ && piped.descriptor == piped.ends[0]);
  CHECK(rondo_descriptor_enabled(source) == RONDO_READ);
  DO(rondo_descriptor_enable(source, 0));
  CHECK(rondo_loop_run(loop, NULL, 0, 0) == RONDO_TIMED_OUT && piped.calls == 2);
  DO(rondo_descriptor_enable(source, RONDO_READ));
  CHECK(rondo_loop_run(loop, NULL, 0, 0) == RONDO_TIMED_OUT && piped.calls == 3);
  CHECK(rondo_descriptor_reason(source) == 0);
  // Closed behind the source: it is given up when the kernel is asked for it again, and says why.
  close(piped.ends[0]);
  DO(rondo_descriptor_enable(source, 0));
  for (int turn = 0; turn < 3; turn++) rondo_loop_run(loop, NULL, 0, 0);
  CHECK(rondo_item_is_valid(source) == 0 && rondo_descriptor_reason(source) == RONDO_ERROR_DESCRIPTOR);
  FAILS(RONDO_ERROR_INVALID, rondo_descriptor_enable(source, RONDO_READ));
  DO(rondo_release(source));
  // One that the loop closes: the other end sees it.
  close(piped.ends[1]);
  CHECK(pipe(piped.ends) == 0);
  DO(rondo_descriptor_new(&source, piped.ends[1], RONDO_WRITE, RONDO_EDGE | RONDO_CLOSE, 0, on_ready, &piped, NULL));
  DO(rondo_loop_add(loop, source, NULL));
  DO(rondo_item_invalidate(source));
  DO(rondo_release(source));
  char byte;
  CHECK(read(piped.ends[0], &byte, 1) == 0);
  close(piped.ends[0]);
  return NULL;
}

// MARK: - Observers

static void on_activity(rondo_observer *observer, unsigned activity, void *opaque) {
  (void)observer;
  char word[16];
  snprintf(word, sizeof word, "%u", activity);
  note(opaque, word);
}

static void note_call(void *opaque) {
  note(opaque, "post");
}

static const char *observers(void) {
  trace trace = {{0}};
  rondo_loop *loop;
  rondo_observer *all, *once;
  named named = {.trace = &trace, .name = "timer"};
  DO(rondo_loop_current(&loop));
  DO(rondo_observer_new(&all, RONDO_ALL_ACTIVITIES, 0, 1, on_activity, &trace, NULL));
  DO(rondo_observer_new(&once, RONDO_BEFORE_SOURCES, RONDO_ONCE, 0, on_activity, &trace, NULL));
  DO(rondo_timer_new(&named.timer, rondo_now() + RONDO_MILLISECOND, 0, 0, on_named, &named, NULL));
  DO(rondo_loop_add(loop, all, NULL));
  DO(rondo_loop_add(loop, once, NULL));
  DO(rondo_loop_add(loop, named.timer, NULL));
  DO(rondo_loop_post(loop, NULL, 0, note_call, &trace, NULL));
  CHECK(rondo_loop_run(loop, NULL, RONDO_FOREVER, 0) == RONDO_FINISHED);
  SAW(trace, "1 2 4 4 post 32 64 timer 128 ");
  CHECK(rondo_item_is_valid(once) == 0 && rondo_item_is_valid(all) == 1);
  DO(rondo_release(all));
  DO(rondo_release(once));
  DO(rondo_release(named.timer));
  return NULL;
}

// MARK: - Modes and runs

typedef struct nested {
  trace trace;
  rondo_loop *loop;
  int result, length;
  char mode[8];
} nested;

static void stop(void *opaque) {
  rondo_loop_stop(((nested *)opaque)->loop);
}

static void note_inner(void *opaque) {
  nested *nested = opaque;
  nested->length = rondo_loop_current_mode(nested->loop, nested->mode, sizeof nested->mode);
  note(&nested->trace, "inner");
}

static void run_inner(void *opaque) {
  nested *nested = opaque;
  note(&nested->trace, "outer");
  rondo_loop_post(nested->loop, "inner", 0, note_inner, nested, NULL);
  rondo_loop_post(nested->loop, "inner", 0, stop, nested, NULL);
  nested->result = rondo_loop_run(nested->loop, "inner", RONDO_FOREVER, 0);
  note(&nested->trace, "back");
}

static void note_mode(const char *mode, void *opaque) {
  note(opaque, mode);
}

static const char *nested_run(void) {
  nested nested = {0};
  DO(rondo_loop_current(&nested.loop));
  rondo_loop *loop = nested.loop;
  DO(rondo_loop_post(loop, NULL, 0, run_inner, &nested, NULL));
  CHECK(rondo_loop_run(loop, NULL, RONDO_FOREVER, 0) == RONDO_FINISHED);
  SAW(nested.trace, "outer inner back ");
  CHECK(nested.result == RONDO_STOPPED && nested.length == 5 && strcmp(nested.mode, "inner") == 0);
  char cut[3];
  CHECK(rondo_loop_current_mode(loop, cut, sizeof cut) == 0 && cut[0] == 0);
  CHECK(rondo_loop_current_mode(loop, NULL, 0) == 0);
  trace modes = {{0}};
  CHECK(rondo_loop_each_mode(loop, note_mode, &modes) == 2);
  SAW(modes, RONDO_DEFAULT_MODE " inner ");
  return NULL;
}

static const char *common_modes(void) {
  trace trace = {{0}};
  rondo_loop *loop;
  named named = {.trace = &trace, .name = "timer"};
  DO(rondo_loop_current(&loop));
  DO(rondo_timer_new(&named.timer, 0, 0, 0, on_named, &named, NULL));
  DO(rondo_loop_add(loop, named.timer, RONDO_COMMON_MODES));
  CHECK(rondo_loop_contains(loop, named.timer, RONDO_COMMON_MODES) == 1);
  CHECK(rondo_loop_run(loop, "tracking", 0, 0) == RONDO_FINISHED);
  DO(rondo_loop_add_common_mode(loop, "tracking"));
  CHECK(rondo_loop_run(loop, "tracking", RONDO_FOREVER, 0) == RONDO_FINISHED);
  SAW(trace, "timer ");
  DO(rondo_release(named.timer));
  return NULL;
}

static const char *stops(void) {
  nested nested = {0};
  DO(rondo_loop_current(&nested.loop));
  rondo_loop *loop = nested.loop;
  named named = {.trace = &nested.trace, .name = "timer"};
  DO(rondo_timer_new(&named.timer, RONDO_FOREVER, 0, 0, on_named, &named, NULL));
  DO(rondo_loop_add(loop, named.timer, NULL));
  // A stop that comes too early is ignored; a request is not.
  DO(rondo_loop_stop(loop));
  CHECK(rondo_loop_run(loop, NULL, RONDO_MILLISECOND, 0) == RONDO_TIMED_OUT);
  DO(rondo_loop_request_stop(loop));
  CHECK(rondo_loop_run(loop, NULL, RONDO_FOREVER, 0) == RONDO_STOPPED);
  DO(rondo_loop_post(loop, NULL, 0, stop, &nested, NULL));
  CHECK(rondo_loop_run(loop, NULL, RONDO_FOREVER, 0) == RONDO_STOPPED);
  DO(rondo_loop_wake_up(loop));
  CHECK(rondo_loop_is_waiting(loop) == 0 && rondo_loop_is_current(loop) == 1);
  CHECK(rondo_loop_run(loop, NULL, -5, 0) == RONDO_TIMED_OUT);
  DO(rondo_release(named.timer));
  return NULL;
}

static const char *statistics(void) {
  trace trace = {{0}};
  rondo_loop *loop;
  DO(rondo_loop_current(&loop));
  DO(rondo_loop_set_times_sleep(loop, 1));
  DO(rondo_loop_post(loop, NULL, 0, note_call, &trace, NULL));
  DO(rondo_loop_run(loop, NULL, 0, 0));
  struct {
    rondo_statistics known;
    uint64_t later;
  } room = {.later = 7};
  room.known.size = sizeof room;
  DO(rondo_loop_statistics(loop, &room.known));
  CHECK(room.known.size == sizeof(rondo_statistics) && room.later == 7);
  CHECK(room.known.turns == 1 && room.known.post_calls == 1 && room.known.timer_calls == 0);
  // A caller of an earlier header.
  struct {
    size_t size;
    uint64_t turns, sleeps;
  } early = {.size = 2 * sizeof(uint64_t), .sleeps = 9};
  DO(rondo_loop_statistics(loop, (rondo_statistics *)&early));
  CHECK(early.size == 16 && early.turns == 1 && early.sleeps == 9);
  return NULL;
}

const stranger_test stranger_loops[] = {
  {"timers fire in the order of their dates, and never early", timers},
  {"a timer repeats on its grid until it is invalidated", repeating_timer},
  {"a timer can be fired by hand, moved and removed", timer_fired_by_hand},
  {"a timeout is armed, put off, disarmed and discarded", timeouts},
  {"a source is scheduled, performed and cancelled", sources},
  {"a descriptor is told until it is disabled or closed", descriptors},
  {"observers are told of every moment of a turn", observers},
  {"a run nested in a call serves its own mode", nested_run},
  {"what is in the common modes is in those to come", common_modes},
  {"a stop ends the run under way, and a request the next one too", stops},
  {"statistics fill the room that the caller has", statistics},
  ENDED,
};
