// Calls that keep their loop: each is reported while it lasts, and a monitor may end at any moment.

#include "support.h"

#include <sys/wait.h>

// A loop that a timer blocks until a report lets it go on.
typedef struct stage {
  rondo_loop *loop;
  rondo_stall_monitor *monitor;
  int ends[2];
  atomic_int reports, endings, destroyed;
  // What the first report and the first end say.
  char callout[256], name[64];
  int thread, has_stack, has_text;
  int64_t least, whole;
  // What the function of `leave` saw.
  int left, kind, run;
} stage;

static void let_go(stage *stage) {
  if (write(stage->ends[1], "", 1) != 1) abort();
}

static void block_until_reported(rondo_timer *timer, const rondo_tick *tick, void *opaque) {
  (void)timer, (void)tick;
  char byte;
  if (read(((stage *)opaque)->ends[0], &byte, 1) != 1) abort();
}

static void on_stall(rondo_stall_monitor *monitor, const rondo_stall *stall, void *opaque) {
  stage *stage = opaque;
  (void)monitor;
  if (stall->has_ended) {
    stage->whole = stall->duration;
    count_up(&stage->endings);
    rondo_loop_request_stop(stage->loop);
    return;
  }
  snprintf(stage->callout, sizeof stage->callout, "%s", stall->callout);
  snprintf(stage->name, sizeof stage->name, "%s", stall->loop);
  stage->thread = stall->thread;
  stage->least = stall->duration;
  stage->has_stack = strchr(stall->stack, '\n') != NULL;
  stage->has_text = strstr(stall->text, stall->callout) != NULL;
  count_up(&stage->reports);
  let_go(stage);
}

static void on_destroyed(void *opaque) {
  count_up(&((stage *)opaque)->destroyed);
}

// A loop with a timer that blocks it, and that keeps it in its mode.
static const char *set(stage *stage) {
  rondo_timer *timer;
  CHECK(pipe(stage->ends) == 0);
  DO(rondo_loop_current(&stage->loop));
  DO(rondo_timer_new(&timer, 0, 3600 * RONDO_SECOND, 0, block_until_reported, stage, NULL));
  DO(rondo_loop_add(stage->loop, timer, NULL));
  DO(rondo_release(timer));
  return NULL;
}

static void wait_for(atomic_int *count, int least) {
  while (atomic_load(count) < least) usleep(1000);
}

static const char *reported(void) {
  stage stage = {0};
  const char *failure = set(&stage);
  if (failure) return failure;
  DO(rondo_stall_monitor_new(&stage.monitor, 20 * RONDO_MILLISECOND, on_stall, &stage, on_destroyed));
  CHECK(rondo_kind_of(stage.monitor) == RONDO_STALL_MONITOR);
  DO(rondo_stall_monitor_watch(stage.monitor, stage.loop));
  DO(rondo_stall_monitor_watch(stage.monitor, stage.loop));
  CHECK(rondo_loop_run(stage.loop, NULL, RONDO_FOREVER, 0) == RONDO_STOPPED);
  CHECK(stage.reports == 1 && stage.endings == 1 && stage.destroyed == 0);
  CHECK(strstr(stage.callout, "timer block_until_reported") == stage.callout);
  CHECK(stage.name[0] && stage.thread > 0 && stage.has_text && stage.has_stack);
  CHECK(stage.least >= 20 * RONDO_MILLISECOND && stage.whole >= stage.least);
  DO(rondo_stall_monitor_stop_watching(stage.monitor, stage.loop));
  DO(rondo_stall_monitor_stop_watching(stage.monitor, stage.loop));
  DO(rondo_release(stage.monitor));
  FAILS(RONDO_ERROR_HANDLE, rondo_stall_monitor_watch(stage.monitor, stage.loop));
  // At its end, if the function has not returned yet.
  wait_for(&stage.destroyed, 1);
  return NULL;
}

static const char *reported_by_two(void) {
  stage stage = {0};
  const char *failure = set(&stage);
  if (failure) return failure;
  rondo_stall_monitor *others[2];
  for (int index = 0; index < 2; index++) {
    DO(rondo_stall_monitor_new(&others[index], 20 * RONDO_MILLISECOND, on_stall, &stage, on_destroyed));
    DO(rondo_stall_monitor_watch(others[index], stage.loop));
  }
  // Each lets it go on once.
  rondo_timer *timer;
  DO(rondo_timer_new(&timer, 0, 0, 1, block_until_reported, &stage, NULL));
  DO(rondo_loop_add(stage.loop, timer, NULL));
  DO(rondo_release(timer));
  while (stage.endings < 2) DO(rondo_loop_run(stage.loop, NULL, RONDO_FOREVER, 0));
  CHECK(stage.reports == 2);
  for (int index = 0; index < 2; index++) DO(rondo_release(others[index]));
  wait_for(&stage.destroyed, 2);
  return NULL;
}

// MARK: - The end

static void leave(rondo_stall_monitor *monitor, const rondo_stall *stall, void *opaque) {
  stage *stage = opaque;
  (void)stall;
  rondo_loop *own;
  // What this asks of the library's thread is served in the run below.
  rondo_stall_monitor_stop_watching(monitor, stage->loop);
  stage->left = rondo_release(monitor);
  stage->kind = rondo_kind_of(monitor);
  stage->run = rondo_loop_current(&own);
  if (stage->run >= 0) stage->run = rondo_loop_run(own, NULL, 20 * RONDO_MILLISECOND, 0);
  if (stage->destroyed) abort();
  count_up(&stage->reports);
  rondo_loop_request_stop(stage->loop);
  let_go(stage);
}

static const char *released_in_its_report(void) {
  stage stage = {0};
  const char *failure = set(&stage);
  if (failure) return failure;
  DO(rondo_stall_monitor_new(&stage.monitor, 20 * RONDO_MILLISECOND, leave, &stage, on_destroyed));
  DO(rondo_stall_monitor_watch(stage.monitor, stage.loop));
  CHECK(rondo_loop_run(stage.loop, NULL, RONDO_FOREVER, 0) == RONDO_STOPPED);
  wait_for(&stage.destroyed, 1);
  CHECK(stage.reports == 1 && stage.left == 0 && stage.kind == RONDO_ERROR_HANDLE && stage.run >= 0);
  return NULL;
}

static void *make_monitors(void *opaque) {
  stage *stage = opaque;
  for (int round = 0; round < 500; round++) {
    rondo_stall_monitor *monitor;
    if (rondo_stall_monitor_new(&monitor, RONDO_SECOND, on_stall, stage, on_destroyed) < 0) return "not made";
    if (rondo_stall_monitor_watch(monitor, stage->loop) < 0) return "not watched";
    if (rondo_release(monitor) < 0) return "not mine";
  }
  return NULL;
}

static const char *many_monitors(void) {
  stage stage = {0};
  DO(rondo_loop_current(&stage.loop));
  pthread_t threads[3];
  for (int index = 0; index < 3; index++) threads[index] = begin_thread(make_monitors, &stage);
  const char *failure = NULL;
  for (int index = 0; index < 3; index++) {
    void *answer;
    pthread_join(threads[index], &answer);
    if (answer) failure = answer;
  }
  if (failure) return failure;
  CHECK(stage.destroyed == 3 * 500 && stage.reports == 0);
  return NULL;
}

static void *be_watched(void *opaque) {
  stage *stage = opaque;
  rondo_loop *loop;
  if (rondo_loop_current(&loop) < 0 || rondo_stall_monitor_watch(stage->monitor, loop) < 0) return "not watched";
  if (rondo_loop_run(loop, NULL, 0, 0) < 0) return "not run";
  return NULL;
}

static void *be_kept(void *opaque) {
  stage *stage = opaque;
  if (rondo_loop_current(&stage->loop) < 0 || rondo_retain(stage->loop) < 0) return "no loop";
  return NULL;
}

static const char *watched_threads_end(void) {
  stage stage = {0};
  DO(rondo_stall_monitor_new(&stage.monitor, RONDO_MILLISECOND, on_stall, &stage, on_destroyed));
  for (int round = 0; round < 20; round++) {
    pthread_t threads[10];
    for (int index = 0; index < 10; index++) threads[index] = begin_thread(be_watched, &stage);
    for (int index = 0; index < 10; index++) {
      void *failure;
      pthread_join(threads[index], &failure);
      if (failure) return failure;
    }
  }
  void *failure;
  pthread_join(begin_thread(be_kept, &stage), &failure);
  if (failure) return failure;
  FAILS(RONDO_ERROR_ENDED, rondo_stall_monitor_watch(stage.monitor, stage.loop));
  DO(rondo_stall_monitor_stop_watching(stage.monitor, stage.loop));
  DO(rondo_release(stage.loop));
  DO(rondo_release(stage.monitor));
  return NULL;
}

// MARK: - A fork

static const char *use_as_child(stage *parent) {
  const int error = RONDO_ERROR_FORKED;
  rondo_loop *loop;
  DO(rondo_loop_current(&loop));
  FAILS(error, rondo_stall_monitor_watch(parent->monitor, loop));
  FAILS(error, rondo_stall_monitor_stop_watching(parent->monitor, loop));
  FAILS(error, rondo_release(parent->monitor));
  CHECK(parent->destroyed == 0);
  stage own = {.loop = loop};
  DO(rondo_stall_monitor_new(&own.monitor, 3600 * RONDO_SECOND, on_stall, &own, on_destroyed));
  DO(rondo_stall_monitor_watch(own.monitor, loop));
  FAILS(error, rondo_stall_monitor_watch(own.monitor, parent->loop));
  DO(rondo_loop_run(loop, NULL, RONDO_MILLISECOND, 0));
  DO(rondo_release(own.monitor));
  CHECK(own.destroyed == 1);
  return NULL;
}

static const char *forked_child(void) {
  stage stage = {0};
  DO(rondo_loop_current(&stage.loop));
  DO(rondo_stall_monitor_new(&stage.monitor, 3600 * RONDO_SECOND, on_stall, &stage, on_destroyed));
  DO(rondo_stall_monitor_watch(stage.monitor, stage.loop));
  pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    alarm(300);
    const char *failure = use_as_child(&stage);
    if (failure) fprintf(stderr, "%s\n", failure);
    _exit(failure ? 1 : 0);
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {}
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  DO(rondo_release(stage.monitor));
  CHECK(stage.destroyed == 1);
  return NULL;
}

const stranger_test stranger_stalls[] = {
  {"a call that keeps its loop is reported with its function and a stack, and its end", reported},
  {"two monitors report the same call", reported_by_two},
  {"a monitor may be released in its report, which may run the loop of its thread", released_in_its_report},
  {"each of 1,500 monitors destroys its context once", many_monitors},
  {"watched loops may end by the hundred, and one that has ended is refused", watched_threads_end},
  {"a forked child has none of its parent's monitors, and may make its own", forked_child},
  ENDED,
};
