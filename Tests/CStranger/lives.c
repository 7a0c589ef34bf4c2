// Who has what for how long: references, and contexts that are destroyed exactly once.

#include "support.h"

typedef struct life {
  atomic_int calls, destroyed;
  // The handle, and what its use answered in `destroy`.
  void *handle;
  int kind_in_destroy;
} life;

static void on_destroy(void *opaque) {
  life *life = opaque;
  life->kind_in_destroy = rondo_kind_of(life->handle);
  count_up(&life->destroyed);
}

static void on_call(void *opaque) {
  count_up(&((life *)opaque)->calls);
}

static void on_timer(rondo_timer *timer, const rondo_tick *tick, void *opaque) {
  (void)timer, (void)tick;
  on_call(opaque);
}

static const char *unused_item(void) {
  life life = {0};
  rondo_timer *timer;
  DO(rondo_timer_new(&timer, 0, 0, 0, on_timer, &life, on_destroy));
  life.handle = timer;
  DO(rondo_retain(timer));
  DO(rondo_release(timer));
  CHECK(life.destroyed == 0);
  DO(rondo_release(timer));
  CHECK(life.destroyed == 1 && life.kind_in_destroy == RONDO_ERROR_HANDLE);
  FAILS(RONDO_ERROR_HANDLE, rondo_release(timer));
  FAILS(RONDO_ERROR_HANDLE, rondo_retain(timer));
  FAILS(RONDO_ERROR_HANDLE, rondo_timer_set_date(timer, 0));
  CHECK(life.destroyed == 1);
  return NULL;
}

static const char *held_by_loop(void) {
  life life = {0};
  rondo_loop *loop;
  rondo_timer *timer;
  DO(rondo_loop_current(&loop));
  DO(rondo_timer_new(&timer, RONDO_FOREVER, 0, 0, on_timer, &life, on_destroy));
  life.handle = timer;
  DO(rondo_loop_add(loop, timer, NULL));
  DO(rondo_release(timer));
  CHECK(life.destroyed == 0);
  FAILS(RONDO_ERROR_RELEASED, rondo_release(timer));
  CHECK(rondo_item_is_valid(timer) == 1);
  // Whoever knows that the loop holds it may have a reference again.
  DO(rondo_retain(timer));
  DO(rondo_loop_remove(loop, timer, NULL));
  CHECK(life.destroyed == 0);
  DO(rondo_release(timer));
  CHECK(life.destroyed == 1);
  return NULL;
}

static const char *invalidated_while_referenced(void) {
  life life = {0};
  rondo_timer *timer;
  DO(rondo_timer_new(&timer, 0, 0, 0, on_timer, &life, on_destroy));
  life.handle = timer;
  DO(rondo_item_invalidate(timer));
  CHECK(life.destroyed == 1 && life.kind_in_destroy == RONDO_TIMER);
  DO(rondo_item_invalidate(timer));
  CHECK(rondo_item_is_valid(timer) == 0);
  FAILS(RONDO_ERROR_INVALID, rondo_timer_set_date(timer, 0));
  FAILS(RONDO_ERROR_INVALID, rondo_timer_fire(timer));
  rondo_loop *loop;
  DO(rondo_loop_current(&loop));
  FAILS(RONDO_ERROR_INVALID, rondo_loop_add(loop, timer, NULL));
  DO(rondo_release(timer));
  FAILS(RONDO_ERROR_HANDLE, rondo_item_is_valid(timer));
  CHECK(life.destroyed == 1);
  return NULL;
}

static int destroyed_in_call;

static void end_itself(rondo_timer *timer, const rondo_tick *tick, void *opaque) {
  (void)tick;
  life *life = opaque;
  on_call(life);
  rondo_item_invalidate(timer);
  rondo_release(timer);
  // The context must last until this function has returned.
  destroyed_in_call = life->destroyed;
}

static const char *invalidated_in_own_call(void) {
  life life = {0};
  rondo_loop *loop;
  rondo_timer *timer;
  DO(rondo_loop_current(&loop));
  DO(rondo_timer_new(&timer, 0, 1, 0, end_itself, &life, on_destroy));
  life.handle = timer;
  DO(rondo_loop_add(loop, timer, NULL));
  CHECK(rondo_loop_run(loop, NULL, RONDO_FOREVER, 0) == RONDO_FINISHED);
  CHECK(life.calls == 1 && life.destroyed == 1 && destroyed_in_call == 0);
  FAILS(RONDO_ERROR_HANDLE, rondo_item_invalidate(timer));
  return NULL;
}

static const char *fired_once(void) {
  life life = {0};
  rondo_loop *loop;
  rondo_timer *timer;
  DO(rondo_loop_current(&loop));
  DO(rondo_timer_new(&timer, 0, 0, 0, on_timer, &life, on_destroy));
  life.handle = timer;
  DO(rondo_loop_add(loop, timer, NULL));
  DO(rondo_release(timer));
  CHECK(rondo_loop_run(loop, NULL, RONDO_FOREVER, 0) == RONDO_FINISHED);
  CHECK(life.calls == 1 && life.destroyed == 1);
  return NULL;
}

static void on_descriptor(rondo_descriptor *source, int descriptor, unsigned readiness, void *context) {
  (void)source, (void)descriptor, (void)readiness, (void)context;
}

static const char *not_made(void) {
  life life = {0};
  rondo_descriptor *source = NULL;
  rondo_timer *timer = NULL;
  FAILS(RONDO_ERROR_DESCRIPTOR, rondo_descriptor_new(&source, -1, RONDO_READ, 0, 0, on_descriptor, &life, on_destroy));
  FAILS(RONDO_ERROR_RANGE, rondo_timer_new(&timer, 0, -1, 0, on_timer, &life, on_destroy));
  CHECK(source == NULL && timer == NULL && life.destroyed == 0);
  rondo_loop *loop;
  DO(rondo_loop_current(&loop));
  FAILS(RONDO_ERROR_MODE, rondo_loop_post(loop, "\xff", 0, on_call, &life, on_destroy));
  CHECK(life.destroyed == 0);
  return NULL;
}

static const char *posted(void) {
  life life = {0};
  rondo_loop *loop;
  DO(rondo_loop_current(&loop));
  for (int index = 0; index < 3; index++) DO(rondo_loop_post(loop, NULL, 0, on_call, &life, on_destroy));
  DO(rondo_loop_post(loop, NULL, RONDO_QUIETLY, on_call, &life, NULL));
  CHECK(rondo_loop_run(loop, NULL, RONDO_FOREVER, 0) == RONDO_FINISHED);
  CHECK(life.calls == 4 && life.destroyed == 3);
  return NULL;
}

static const char *recycled(void) {
  life life = {0};
  rondo_timer *first, *second = NULL;
  DO(rondo_timer_new(&first, 0, 0, 0, on_timer, &life, NULL));
  DO(rondo_release(first));
  // Whatever takes its room is not it.
  for (int index = 0; index < 5000; index++) {
    DO(rondo_timer_new(&second, 0, 0, 0, on_timer, &life, on_destroy));
    CHECK(second != first);
    FAILS(RONDO_ERROR_HANDLE, rondo_item_is_valid(first));
    DO(rondo_release(second));
  }
  CHECK(life.destroyed == 5000);
  return NULL;
}

static void release_timer(void *timer) {
  rondo_release(timer);
}

static const char *owns_itself(void) {
  life life = {0};
  rondo_timer *timer, *owner;
  DO(rondo_timer_new(&timer, 0, 0, 0, on_timer, &life, on_destroy));
  DO(rondo_timer_new(&owner, 0, 0, 0, on_timer, timer, release_timer));
  DO(rondo_release(owner));
  CHECK(life.destroyed == 1);
  return NULL;
}

// MARK: - The end of a thread

typedef struct leaver {
  life life;
  rondo_loop *loop, *borrowed;
  rondo_timer *timer;
  rondo_source *source;
  rondo_timeout timeout;
  const char *failure;
  char cancelled[64];
  int kind_in_cancel;
} leaver;

static void on_source(rondo_source *source, void *opaque) {
  (void)source;
  on_call(&((leaver *)opaque)->life);
}

static void on_cancel(rondo_source *source, rondo_loop *loop, const char *mode, void *opaque) {
  (void)source;
  leaver *leaver = opaque;
  snprintf(leaver->cancelled, sizeof leaver->cancelled, "%s", mode);
  rondo_loop *current;
  if (rondo_loop_current(&current) == 0 && current == loop) leaver->kind_in_cancel = rondo_kind_of(loop);
}

static const char *fill(leaver *leaver) {
  DO(rondo_loop_current(&leaver->loop));
  DO(rondo_retain(leaver->loop));
  DO(rondo_timer_new(&leaver->timer, RONDO_FOREVER, 0, 0, on_timer, &leaver->life, on_destroy));
  DO(rondo_source_new(&leaver->source, 0, on_source, NULL, on_cancel, leaver, NULL));
  DO(rondo_loop_add(leaver->loop, leaver->timer, NULL));
  DO(rondo_loop_add(leaver->loop, leaver->source, "a mode"));
  DO(rondo_timeout_new(&leaver->timeout, leaver->loop, NULL, RONDO_FOREVER, 0, on_call, &leaver->life));
  DO(rondo_timeout_arm(leaver->loop, leaver->timeout, 0));
  DO(rondo_loop_post(leaver->loop, NULL, 0, on_call, &leaver->life, on_destroy));
  return NULL;
}

static void *leave(void *opaque) {
  leaver *leaver = opaque;
  leaver->failure = fill(leaver);
  return NULL;
}

static const char *ended_thread(void) {
  leaver leaver = {0};
  pthread_join(begin_thread(leave, &leaver), NULL);
  if (leaver.failure) return leaver.failure;
  // The timer's context and the posted call's. Nothing was called.
  CHECK(leaver.life.destroyed == 2 && leaver.life.calls == 0);
  CHECK(strcmp(leaver.cancelled, "a mode") == 0 && leaver.kind_in_cancel == RONDO_LOOP);
  CHECK(rondo_item_is_valid(leaver.timer) == 0 && rondo_item_is_valid(leaver.source) == 1);
  const int error = RONDO_ERROR_ENDED;
  int64_t date;
  rondo_embedding *embedding;
  FAILS(error, rondo_loop_run(leaver.loop, NULL, 0, 0));
  FAILS(error, rondo_loop_stop(leaver.loop));
  FAILS(error, rondo_loop_wake_up(leaver.loop));
  FAILS(error, rondo_loop_request_stop(leaver.loop));
  FAILS(error, rondo_loop_add(leaver.loop, leaver.source, NULL));
  FAILS(error, rondo_loop_post(leaver.loop, NULL, 0, on_call, &leaver.life, on_destroy));
  FAILS(error, rondo_loop_post(leaver.loop, "a mode", 0, on_call, &leaver.life, on_destroy));
  FAILS(error, rondo_loop_add_common_mode(leaver.loop, "a mode"));
  FAILS(error, rondo_loop_next_date(leaver.loop, NULL, &date));
  FAILS(error, rondo_timeout_arm(leaver.loop, leaver.timeout, 0));
  FAILS(error, rondo_embedding_new(&embedding, leaver.loop, NULL));
  CHECK(leaver.life.destroyed == 2);
  DO(rondo_source_signal(leaver.source, 0));
  DO(rondo_release(leaver.source));
  DO(rondo_release(leaver.timer));
  DO(rondo_release(leaver.loop));
  FAILS(RONDO_ERROR_HANDLE, rondo_loop_stop(leaver.loop));
  return NULL;
}

static void *look_and_leave(void *opaque) {
  rondo_loop_current(opaque);
  return NULL;
}

static const char *borrowed_loop(void) {
  rondo_loop *loop = NULL, *first = NULL;
  for (int index = 0; index < 100; index++) {
    pthread_join(begin_thread(look_and_leave, &loop), NULL);
    CHECK(loop != NULL && loop != first);
    FAILS(RONDO_ERROR_HANDLE, rondo_loop_stop(loop));
    if (first == NULL) first = loop;
  }
  return NULL;
}

const stranger_test stranger_lives[] = {
  {"an item in no loop is gone with its last reference", unused_item},
  {"a loop holds what is in it", held_by_loop},
  {"an item that was invalidated answers as long as it is referenced", invalidated_while_referenced},
  {"a context outlives its own call", invalidated_in_own_call},
  {"a timer that fired once lets go of its context", fired_once},
  {"what is not made destroys nothing", not_made},
  {"a posted call's context is destroyed once", posted},
  {"a handle never stands for a later item", recycled},
  {"a context may own another item", owns_itself},
  {"a loop ends with its thread, and lets go of everything", ended_thread},
  {"a borrowed loop is good as long as its thread", borrowed_loop},
  ENDED,
};
