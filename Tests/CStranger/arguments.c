// Bad arguments: each is answered, and none ends the process.

#include "support.h"

static void on_timer(rondo_timer *timer, const rondo_tick *tick, void *context) {
  (void)timer, (void)tick;
  if (context) count_up(context);
}

static void on_source(rondo_source *source, void *context) {
  (void)source, (void)context;
}

static void on_descriptor(rondo_descriptor *source, int descriptor, unsigned readiness, void *context) {
  (void)source, (void)descriptor, (void)readiness, (void)context;
}

static void on_observer(rondo_observer *observer, unsigned activity, void *context) {
  (void)observer, (void)activity, (void)context;
}

static void on_stall(rondo_stall_monitor *monitor, const rondo_stall *stall, void *context) {
  (void)monitor, (void)stall, (void)context;
}

static void on_mode(const char *mode, void *context) {
  (void)mode, (void)context;
}

static const char *null_pointers(void) {
  rondo_loop *loop;
  DO(rondo_loop_current(&loop));
  int64_t date;
  rondo_timeout none = {0, 0};
  const int error = RONDO_ERROR_NULL;
  FAILS(error, rondo_kind_of(NULL));
  FAILS(error, rondo_retain(NULL));
  FAILS(error, rondo_release(NULL));
  FAILS(error, rondo_loop_current(NULL));
  FAILS(error, rondo_loop_main(NULL));
  FAILS(error, rondo_loop_is_current(NULL));
  FAILS(error, rondo_loop_run(NULL, NULL, 0, 0));
  FAILS(error, rondo_loop_stop(NULL));
  FAILS(error, rondo_loop_request_stop(NULL));
  FAILS(error, rondo_loop_wake_up(NULL));
  FAILS(error, rondo_loop_is_waiting(NULL));
  FAILS(error, rondo_loop_current_mode(NULL, NULL, 0));
  FAILS(error, rondo_loop_current_mode(loop, NULL, 1));
  FAILS(error, rondo_loop_each_mode(NULL, on_mode, NULL));
  FAILS(error, rondo_loop_each_mode(loop, NULL, NULL));
  FAILS(error, rondo_loop_add_common_mode(NULL, NULL));
  FAILS(error, rondo_loop_next_date(NULL, NULL, &date));
  FAILS(error, rondo_loop_next_date(loop, NULL, NULL));
  FAILS(error, rondo_loop_add(loop, NULL, NULL));
  FAILS(error, rondo_loop_add(NULL, loop, NULL));
  FAILS(error, rondo_loop_remove(loop, NULL, NULL));
  FAILS(error, rondo_loop_contains(loop, NULL, NULL));
  FAILS(error, rondo_item_invalidate(NULL));
  FAILS(error, rondo_item_is_valid(NULL));
  FAILS(error, rondo_loop_post(NULL, NULL, 0, count_up, NULL, NULL));
  FAILS(error, rondo_loop_post(loop, NULL, 0, NULL, NULL, NULL));
  FAILS(error, rondo_timer_new(NULL, 0, 0, 0, on_timer, NULL, NULL));
  rondo_timer *timer;
  FAILS(error, rondo_timer_new(&timer, 0, 0, 0, NULL, NULL, NULL));
  FAILS(error, rondo_timer_date(NULL, &date));
  FAILS(error, rondo_timer_set_date(NULL, 0));
  FAILS(error, rondo_timer_interval(NULL, &date));
  FAILS(error, rondo_timer_set_interval(NULL, 1));
  FAILS(error, rondo_timer_tolerance(NULL, &date));
  FAILS(error, rondo_timer_set_tolerance(NULL, 1));
  FAILS(error, rondo_timer_set_precise(NULL, 1));
  FAILS(error, rondo_timer_fire(NULL));
  DO(rondo_timer_new(&timer, 0, 0, 0, on_timer, NULL, NULL));
  FAILS(error, rondo_timer_date(timer, NULL));
  FAILS(error, rondo_timer_interval(timer, NULL));
  FAILS(error, rondo_timer_tolerance(timer, NULL));
  DO(rondo_release(timer));
  rondo_timeout timeout;
  FAILS(error, rondo_timeout_new(NULL, loop, NULL, RONDO_FOREVER, 0, count_up, NULL));
  FAILS(error, rondo_timeout_new(&timeout, NULL, NULL, RONDO_FOREVER, 0, count_up, NULL));
  FAILS(error, rondo_timeout_new(&timeout, loop, NULL, RONDO_FOREVER, 0, NULL, NULL));
  FAILS(error, rondo_timeout_arm(NULL, none, 0));
  FAILS(error, rondo_timeout_disarm(NULL, none));
  FAILS(error, rondo_timeout_discard(NULL, none));
  FAILS(error, rondo_timeout_date(NULL, none, &date));
  FAILS(error, rondo_timeout_date(loop, none, NULL));
  rondo_source *source;
  FAILS(error, rondo_source_new(NULL, 0, on_source, NULL, NULL, NULL, NULL));
  FAILS(error, rondo_source_new(&source, 0, NULL, NULL, NULL, NULL, NULL));
  FAILS(error, rondo_source_signal(NULL, 0));
  FAILS(error, rondo_source_is_signalled(NULL));
  rondo_descriptor *descriptor;
  FAILS(error, rondo_descriptor_new(NULL, 0, RONDO_READ, 0, 0, on_descriptor, NULL, NULL));
  FAILS(error, rondo_descriptor_new(&descriptor, 0, RONDO_READ, 0, 0, NULL, NULL, NULL));
  FAILS(error, rondo_descriptor_enabled(NULL));
  FAILS(error, rondo_descriptor_enable(NULL, RONDO_READ));
  FAILS(error, rondo_descriptor_reason(NULL));
  rondo_observer *observer;
  FAILS(error, rondo_observer_new(NULL, RONDO_ENTRY, 0, 0, on_observer, NULL, NULL));
  FAILS(error, rondo_observer_new(&observer, RONDO_ENTRY, 0, 0, NULL, NULL, NULL));
  rondo_embedding *embedding;
  FAILS(error, rondo_embedding_new(NULL, loop, NULL));
  FAILS(error, rondo_embedding_new(&embedding, NULL, NULL));
  FAILS(error, rondo_embedding_descriptor(NULL));
  FAILS(error, rondo_embedding_turn(NULL));
  FAILS(error, rondo_embedding_deadline(NULL, &date));
  FAILS(error, rondo_embedding_end(NULL));
  rondo_statistics statistics = {.size = sizeof statistics};
  FAILS(error, rondo_loop_statistics(NULL, &statistics));
  FAILS(error, rondo_loop_statistics(loop, NULL));
  FAILS(error, rondo_loop_set_times_sleep(NULL, 1));
  FAILS(error, rondo_loop_set_precision_budget(NULL, 0));
  FAILS(error, rondo_loop_set_busy_poll_budget(NULL, 0));
  FAILS(error, rondo_stall_monitor_new(NULL, RONDO_SECOND, on_stall, NULL, NULL));
  FAILS(error, rondo_stall_monitor_watch(NULL, loop));
  FAILS(error, rondo_stall_monitor_stop_watching(NULL, loop));
  rondo_stall_monitor *monitor;
  DO(rondo_stall_monitor_new(&monitor, RONDO_SECOND, on_stall, NULL, NULL));
  FAILS(error, rondo_stall_monitor_watch(monitor, NULL));
  FAILS(error, rondo_stall_monitor_stop_watching(monitor, NULL));
  DO(rondo_release(monitor));
  return NULL;
}

static const char *no_handles(void) {
  int local = 0;
  void *strangers[] = {(void *)1, (void *)8, &local, (void *)&no_handles, (void *)-1, (void *)0xFFFFFFFF00000000u};
  for (size_t index = 0; index < sizeof strangers / sizeof strangers[0]; index++) {
    void *stranger = strangers[index];
    FAILS(RONDO_ERROR_HANDLE, rondo_kind_of(stranger));
    FAILS(RONDO_ERROR_HANDLE, rondo_retain(stranger));
    FAILS(RONDO_ERROR_HANDLE, rondo_release(stranger));
    FAILS(RONDO_ERROR_HANDLE, rondo_loop_run(stranger, NULL, 0, 0));
    FAILS(RONDO_ERROR_HANDLE, rondo_source_signal(stranger, 0));
    FAILS(RONDO_ERROR_HANDLE, rondo_item_invalidate(stranger));
  }
  return NULL;
}

static const char *other_kinds(void) {
  rondo_loop *loop;
  rondo_timer *timer;
  rondo_source *source;
  DO(rondo_loop_current(&loop));
  DO(rondo_timer_new(&timer, 0, 0, 0, on_timer, NULL, NULL));
  DO(rondo_source_new(&source, 0, on_source, NULL, NULL, NULL, NULL));
  CHECK(rondo_kind_of(loop) == RONDO_LOOP && rondo_kind_of(timer) == RONDO_TIMER);
  CHECK(rondo_kind_of(source) == RONDO_SOURCE);
  int64_t date;
  FAILS(RONDO_ERROR_KIND, rondo_loop_run((rondo_loop *)timer, NULL, 0, 0));
  FAILS(RONDO_ERROR_KIND, rondo_loop_add(loop, loop, NULL));
  FAILS(RONDO_ERROR_KIND, rondo_item_invalidate(loop));
  FAILS(RONDO_ERROR_KIND, rondo_timer_date((rondo_timer *)source, &date));
  FAILS(RONDO_ERROR_KIND, rondo_source_signal((rondo_source *)timer, 0));
  FAILS(RONDO_ERROR_KIND, rondo_descriptor_enabled((rondo_descriptor *)timer));
  FAILS(RONDO_ERROR_KIND, rondo_embedding_turn((rondo_embedding *)loop));
  FAILS(RONDO_ERROR_KIND, rondo_stall_monitor_watch((rondo_stall_monitor *)loop, loop));
  DO(rondo_release(timer));
  DO(rondo_release(source));
  return NULL;
}

static const char *names_of_modes(void) {
  rondo_loop *loop;
  rondo_timer *timer;
  rondo_timeout timeout;
  DO(rondo_loop_current(&loop));
  DO(rondo_timer_new(&timer, RONDO_FOREVER, 0, 0, on_timer, NULL, NULL));
  FAILS(RONDO_ERROR_MODE, rondo_loop_add(loop, timer, "\xff\xfe"));
  FAILS(RONDO_ERROR_MODE, rondo_loop_run(loop, "\xc3", 0, 0));
  FAILS(RONDO_ERROR_MODE, rondo_loop_run(loop, RONDO_COMMON_MODES, 0, 0));
  FAILS(RONDO_ERROR_MODE, rondo_loop_add_common_mode(loop, RONDO_COMMON_MODES));
  FAILS(RONDO_ERROR_MODE, rondo_timeout_new(&timeout, loop, "\xff", RONDO_FOREVER, 0, count_up, NULL));
  FAILS(RONDO_ERROR_ABSENT, rondo_loop_remove(loop, timer, "unknown"));
  CHECK(rondo_loop_contains(loop, timer, "unknown") == 0);
  CHECK(rondo_loop_run(loop, "unknown", 0, 0) == RONDO_FINISHED);
  // The default mode is the first of 64.
  char name[16];
  for (int index = 1; index < 64; index++) {
    snprintf(name, sizeof name, "mode %d", index);
    DO(rondo_loop_add(loop, timer, name));
  }
  FAILS(RONDO_ERROR_MODES, rondo_loop_add(loop, timer, "one more"));
  FAILS(RONDO_ERROR_MODES, rondo_loop_add_common_mode(loop, "one more"));
  FAILS(RONDO_ERROR_MODES, rondo_loop_post(loop, "one more", 0, count_up, NULL, NULL));
  FAILS(RONDO_ERROR_MODES, rondo_timeout_new(&timeout, loop, "one more", RONDO_FOREVER, 0, count_up, NULL));
  rondo_embedding *embedding;
  FAILS(RONDO_ERROR_MODES, rondo_embedding_new(&embedding, loop, "one more"));
  DO(rondo_loop_add(loop, timer, "mode 63"));
  CHECK(rondo_loop_each_mode(loop, on_mode, NULL) == 64);
  DO(rondo_release(timer));
  return NULL;
}

static const char *ranges(void) {
  rondo_loop *loop;
  rondo_timer *once, *often;
  rondo_timeout timeout;
  DO(rondo_loop_current(&loop));
  const int error = RONDO_ERROR_RANGE;
  FAILS(error, rondo_loop_run(loop, NULL, 0, 2));
  FAILS(error, rondo_loop_post(loop, NULL, 6, count_up, NULL, NULL));
  FAILS(error, rondo_timer_new(&once, 0, -1, 0, on_timer, NULL, NULL));
  DO(rondo_timer_new(&once, INT64_MIN, 0, INT32_MIN, on_timer, NULL, NULL));
  DO(rondo_timer_new(&often, INT64_MAX, INT64_MAX, INT32_MAX, on_timer, NULL, NULL));
  FAILS(error, rondo_timer_set_interval(once, 1));
  FAILS(error, rondo_timer_set_interval(often, 0));
  FAILS(error, rondo_timer_set_tolerance(once, -1));
  DO(rondo_timer_set_tolerance(once, INT64_MAX));
  DO(rondo_timer_set_date(once, INT64_MAX));
  DO(rondo_timer_set_date(often, INT64_MIN));
  DO(rondo_timer_set_precise(often, 1));
  FAILS(error, rondo_timeout_new(&timeout, loop, NULL, RONDO_FOREVER, -1, count_up, NULL));
  DO(rondo_timeout_new(&timeout, loop, NULL, RONDO_FOREVER, INT64_MAX, count_up, NULL));
  DO(rondo_timeout_arm(loop, timeout, INT64_MAX));
  DO(rondo_timeout_arm(loop, timeout, INT64_MIN));
  DO(rondo_timeout_discard(loop, timeout));
  rondo_descriptor *descriptor;
  FAILS(error, rondo_descriptor_new(&descriptor, 0, 8, 0, 0, on_descriptor, NULL, NULL));
  FAILS(error, rondo_descriptor_new(&descriptor, 0, RONDO_READ, 4, 0, on_descriptor, NULL, NULL));
  rondo_observer *observer;
  FAILS(error, rondo_observer_new(&observer, RONDO_ENTRY, 2, 0, on_observer, NULL, NULL));
  rondo_statistics statistics = {.size = 1};
  FAILS(error, rondo_loop_statistics(loop, &statistics));
  FAILS(error, rondo_loop_set_precision_budget(loop, -1));
  FAILS(error, rondo_loop_set_busy_poll_budget(loop, RONDO_SECOND + 1));
  DO(rondo_loop_set_precision_budget(loop, RONDO_SECOND));
  rondo_stall_monitor *monitor;
  FAILS(error, rondo_stall_monitor_new(&monitor, RONDO_MILLISECOND - 1, on_stall, NULL, NULL));
  FAILS(error, rondo_stall_monitor_new(&monitor, INT64_MIN, on_stall, NULL, NULL));
  // The longest limit, and stderr for its reports.
  DO(rondo_stall_monitor_new(&monitor, RONDO_FOREVER, NULL, NULL, NULL));
  DO(rondo_stall_monitor_watch(monitor, loop));
  FAILS(RONDO_ERROR_KIND, rondo_loop_add(loop, monitor, NULL));
  DO(rondo_release(monitor));
  DO(rondo_release(once));
  DO(rondo_release(often));
  return NULL;
}

static const char *bad_descriptors(void) {
  rondo_descriptor *source;
  FAILS(RONDO_ERROR_DESCRIPTOR, rondo_descriptor_new(&source, -1, RONDO_READ, 0, 0, on_descriptor, NULL, NULL));
  FAILS(RONDO_ERROR_DESCRIPTOR, rondo_descriptor_new(&source, 1 << 30, RONDO_READ, 0, 0, on_descriptor, NULL, NULL));
  FILE *file = tmpfile();
  CHECK(file);
  FAILS(
    RONDO_ERROR_POLLABLE, rondo_descriptor_new(&source, fileno(file), RONDO_READ, 0, 0, on_descriptor, NULL, NULL));
  fclose(file);
  return NULL;
}

static const char *texts(void) {
  for (int error = RONDO_ERROR_NULL; error >= RONDO_ERROR_MEMORY; error--) {
    const char *text = rondo_error_text(error);
    CHECK(text && *text && strcmp(text, "an unknown error") != 0);
    for (int other = RONDO_ERROR_NULL; other > error; other--) CHECK(strcmp(text, rondo_error_text(other)) != 0);
  }
  CHECK(strcmp(rondo_error_text(RONDO_ERROR_MEMORY - 1), "an unknown error") == 0);
  CHECK(strcmp(rondo_error_text(0), "no error") == 0);
  CHECK(strcmp(rondo_error_text(4), "no error") == 0);
  return NULL;
}

static const char *versions(void) {
  CHECK(rondo_version() == 1000 * RONDO_VERSION_MAJOR + RONDO_VERSION_MINOR);
  int64_t before = rondo_now();
  CHECK(before > 0 && rondo_now() >= before);
  return NULL;
}

const stranger_test stranger_arguments[] = {
  {"null pointers are answered everywhere", null_pointers},
  {"what is no handle is refused", no_handles},
  {"a handle of another kind is refused", other_kinds},
  {"a mode's name may be wrong, and there may be too many", names_of_modes},
  {"numbers out of range are refused, and the farthest dates are none", ranges},
  {"a closed descriptor and a regular file are refused", bad_descriptors},
  {"each error has words of its own", texts},
  {"the library is as old as the header", versions},
  ENDED,
};
