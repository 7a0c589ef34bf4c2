// Forked children, and processes without descriptors.

#include "support.h"

#include <sys/resource.h>
#include <sys/wait.h>

static void on_timer(rondo_timer *timer, const rondo_tick *tick, void *context) {
  (void)timer, (void)tick;
  if (context) count_up(context);
}

// Runs `body` in a forked child. Returns what it returned; its text is told on stderr.
static const char *in_child(const char *(*body)(void *), void *context) {
  pid_t child = fork();
  if (child < 0) return "no child";
  if (child == 0) {
    const char *failure = body(context);
    if (failure) fprintf(stderr, "%s\n", failure);
    _exit(failure ? 1 : 0);
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {}
  if (WIFSIGNALED(status)) return "the child died of a signal";
  return WEXITSTATUS(status) == 0 ? NULL : "the child failed";
}

typedef struct parent {
  rondo_loop *loop;
  rondo_timer *timer;
  rondo_timeout timeout;
  atomic_int destroyed;
} parent;

static const char *use_as_child(void *opaque) {
  parent *parent = opaque;
  const int error = RONDO_ERROR_FORKED;
  FAILS(error, rondo_kind_of(parent->loop));
  FAILS(error, rondo_retain(parent->timer));
  FAILS(error, rondo_release(parent->timer));
  FAILS(error, rondo_loop_run(parent->loop, NULL, 0, 0));
  FAILS(error, rondo_loop_stop(parent->loop));
  FAILS(error, rondo_loop_post(parent->loop, NULL, 0, count_up, &parent->destroyed, count_up));
  FAILS(error, rondo_timeout_arm(parent->loop, parent->timeout, 0));
  FAILS(error, rondo_timer_set_date(parent->timer, 0));
  FAILS(error, rondo_item_invalidate(parent->timer));
  CHECK(parent->destroyed == 0);
  // The child has a loop of its own.
  rondo_loop *loop;
  rondo_timer *timer;
  atomic_int fired = 0;
  DO(rondo_loop_current(&loop));
  CHECK(loop != parent->loop);
  DO(rondo_timer_new(&timer, rondo_now(), 0, 0, on_timer, &fired, NULL));
  FAILS(error, rondo_loop_add(parent->loop, timer, NULL));
  DO(rondo_loop_add(loop, timer, NULL));
  CHECK(rondo_loop_run(loop, "another", 0, 0) == RONDO_FINISHED);
  DO(rondo_loop_run(loop, NULL, 0, 0));
  CHECK(fired == 1);
  DO(rondo_release(timer));
  return NULL;
}

static const char *forked_child(void) {
  parent parent = {0};
  DO(rondo_loop_current(&parent.loop));
  DO(rondo_timer_new(&parent.timer, RONDO_FOREVER, 0, 0, on_timer, &parent.destroyed, count_up));
  DO(rondo_loop_add(parent.loop, parent.timer, NULL));
  DO(rondo_timeout_new(&parent.timeout, parent.loop, NULL, RONDO_FOREVER, 0, count_up, NULL));
  const char *failure = in_child(use_as_child, &parent);
  if (failure) return failure;
  CHECK(rondo_item_is_valid(parent.timer) == 1);
  DO(rondo_item_invalidate(parent.timer));
  CHECK(parent.destroyed == 1);
  DO(rondo_release(parent.timer));
  return NULL;
}

static const char *use_without_descriptors(void *unused) {
  (void)unused;
  struct rlimit limit;
  CHECK(getrlimit(RLIMIT_NOFILE, &limit) == 0);
  limit.rlim_cur = 0;
  CHECK(setrlimit(RLIMIT_NOFILE, &limit) == 0);
  rondo_loop *loop;
  FAILS(RONDO_ERROR_SHORTAGE, rondo_loop_current(&loop));
  FAILS(RONDO_ERROR_SHORTAGE, rondo_loop_current(&loop));
  rondo_stall_monitor *monitor;
  FAILS(RONDO_ERROR_SHORTAGE, rondo_stall_monitor_new(&monitor, RONDO_SECOND, NULL, NULL, NULL));
  limit.rlim_cur = limit.rlim_max < 256 ? limit.rlim_max : 256;
  CHECK(setrlimit(RLIMIT_NOFILE, &limit) == 0);
  // Once there are some again, it works.
  while (rondo_loop_current(&loop) < 0 && limit.rlim_cur < limit.rlim_max) {
    limit.rlim_cur = limit.rlim_cur * 2 < limit.rlim_max ? limit.rlim_cur * 2 : limit.rlim_max;
    CHECK(setrlimit(RLIMIT_NOFILE, &limit) == 0);
  }
  DO(rondo_loop_current(&loop));
  return NULL;
}

static const char *no_descriptors(void) {
  return in_child(use_without_descriptors, NULL);
}

const stranger_test stranger_processes[] = {
  {"a forked child has a loop of its own, and nothing of its parent's", forked_child},
  {"a lack of descriptors is answered", no_descriptors},
  ENDED,
};
