// Several threads: the wrong one is told so, and nothing that is posted is lost.

#include "support.h"

#include <sys/epoll.h>
#include <sys/timerfd.h>

static void on_timer(rondo_timer *timer, const rondo_tick *tick, void *context) {
  (void)timer, (void)tick;
  if (context) count_up(context);
}

static void on_source(rondo_source *source, void *context) {
  (void)source;
  count_up(context);
}

// MARK: - The wrong thread

typedef struct owned {
  rondo_loop *loop;
  rondo_timer *timer;
  rondo_timeout timeout;
  rondo_embedding *embedding;
} owned;

static const char *use_from_elsewhere(owned *owned) {
  const int error = RONDO_ERROR_THREAD;
  rondo_timeout timeout;
  rondo_embedding *embedding;
  int64_t date;
  CHECK(rondo_loop_is_current(owned->loop) == 0);
  FAILS(error, rondo_loop_run(owned->loop, NULL, 0, 0));
  FAILS(error, rondo_timeout_new(&timeout, owned->loop, NULL, RONDO_FOREVER, 0, count_up, NULL));
  FAILS(error, rondo_timeout_arm(owned->loop, owned->timeout, 0));
  FAILS(error, rondo_timeout_disarm(owned->loop, owned->timeout));
  FAILS(error, rondo_timeout_discard(owned->loop, owned->timeout));
  FAILS(error, rondo_timeout_date(owned->loop, owned->timeout, &date));
  FAILS(error, rondo_timer_fire(owned->timer));
  FAILS(error, rondo_embedding_new(&embedding, owned->loop, NULL));
  FAILS(error, rondo_embedding_descriptor(owned->embedding));
  FAILS(error, rondo_embedding_turn(owned->embedding));
  FAILS(error, rondo_embedding_deadline(owned->embedding, &date));
  FAILS(error, rondo_embedding_end(owned->embedding));
  FAILS(error, rondo_release(owned->embedding));
  // A timer is in one loop at a time.
  rondo_loop *loop;
  DO(rondo_loop_current(&loop));
  FAILS(RONDO_ERROR_ELSEWHERE, rondo_loop_add(loop, owned->timer, NULL));
  CHECK(rondo_loop_contains(loop, owned->timer, NULL) == 0);
  FAILS(RONDO_ERROR_ABSENT, rondo_loop_remove(loop, owned->timer, NULL));
  // A timeout of another loop.
  FAILS(RONDO_ERROR_HANDLE, rondo_timeout_arm(loop, owned->timeout, 0));
  return NULL;
}

static void *stray(void *owned) {
  return (void *)use_from_elsewhere(owned);
}

static const char *wrong_thread(void) {
  owned owned;
  DO(rondo_loop_current(&owned.loop));
  DO(rondo_timer_new(&owned.timer, RONDO_FOREVER, 0, 0, on_timer, NULL, NULL));
  DO(rondo_loop_add(owned.loop, owned.timer, NULL));
  DO(rondo_timeout_new(&owned.timeout, owned.loop, NULL, RONDO_FOREVER, 0, count_up, NULL));
  DO(rondo_embedding_new(&owned.embedding, owned.loop, NULL));
  void *failure;
  pthread_join(begin_thread(stray, &owned), &failure);
  if (failure) return failure;
  DO(rondo_release(owned.embedding));
  FAILS(RONDO_ERROR_HANDLE, rondo_embedding_turn(owned.embedding));
  DO(rondo_release(owned.timer));
  return NULL;
}

// MARK: - Posts

enum { POSTERS = 3, POSTS = 100000 };

typedef struct posting {
  rondo_loop *loop;
  atomic_int ran, destroyed, refused;
  atomic_int is_over;
} posting;

static void on_post(void *opaque) {
  posting *posting = opaque;
  if (atomic_fetch_add(&posting->ran, 1) + 1 == POSTERS * POSTS) rondo_loop_stop(posting->loop);
}

static void on_post_destroyed(void *opaque) {
  count_up(&((posting *)opaque)->destroyed);
}

static void *post(void *opaque) {
  posting *posting = opaque;
  for (int index = 0; index < POSTS; index++) {
    if (rondo_loop_post(posting->loop, NULL, 0, on_post, posting, on_post_destroyed) < 0) count_up(&posting->refused);
  }
  return NULL;
}

static const char *posts(void) {
  posting posting = {0};
  rondo_timer *keeper;
  DO(rondo_loop_current(&posting.loop));
  DO(rondo_timer_new(&keeper, RONDO_FOREVER, 0, 0, on_timer, NULL, NULL));
  DO(rondo_loop_add(posting.loop, keeper, NULL));
  DO(rondo_release(keeper));
  pthread_t posters[POSTERS];
  for (int index = 0; index < POSTERS; index++) posters[index] = begin_thread(post, &posting);
  CHECK(rondo_loop_run(posting.loop, NULL, RONDO_FOREVER, 0) == RONDO_STOPPED);
  for (int index = 0; index < POSTERS; index++) pthread_join(posters[index], NULL);
  CHECK(posting.ran == POSTERS * POSTS && posting.destroyed == POSTERS * POSTS && posting.refused == 0);
  return NULL;
}

static void *serve_briefly(void *opaque) {
  posting *posting = opaque;
  rondo_loop *loop;
  rondo_timer *keeper;
  if (rondo_loop_current(&loop) < 0 || rondo_retain(loop) < 0) return "no loop";
  if (rondo_timer_new(&keeper, RONDO_FOREVER, 0, 0, on_timer, NULL, NULL) < 0) return "no timer";
  rondo_loop_add(loop, keeper, NULL);
  rondo_release(keeper);
  __atomic_store_n(&posting->loop, loop, __ATOMIC_RELEASE);
  rondo_loop_run(loop, NULL, RONDO_MILLISECOND, 0);
  return NULL;
}

// Each context is destroyed once, or refused, and never both.
static const char *posts_to_the_dying(void) {
  for (int round = 0; round < 20; round++) {
    posting posting = {0};
    pthread_t server = begin_thread(serve_briefly, &posting);
    rondo_loop *loop;
    while ((loop = __atomic_load_n(&posting.loop, __ATOMIC_ACQUIRE)) == NULL) usleep(10);
    int taken = 0, refused = 0;
    while (refused == 0) {
      int answer = rondo_loop_post(loop, NULL, 0, count_up, &posting.ran, NULL);
      if (answer < 0) break;
      answer = rondo_loop_post(loop, NULL, 0, on_post_destroyed, &posting, on_post_destroyed);
      if (answer == RONDO_ERROR_ENDED) refused += 1;
      else if (answer == 0) taken += 1;
      else return "another error";
    }
    void *failure;
    pthread_join(server, &failure);
    if (failure) return failure;
    // Once by being run, if it was, and once by being destroyed.
    CHECK(posting.destroyed >= taken && posting.destroyed <= 2 * taken);
    DO(rondo_release(loop));
    FAILS(RONDO_ERROR_HANDLE, rondo_loop_post(loop, NULL, 0, count_up, NULL, NULL));
  }
  return NULL;
}

// MARK: - Signals, stops, changes from elsewhere

typedef struct remote {
  rondo_loop *loop;
  rondo_source *source;
  rondo_timer *timer;
  atomic_int performed, fired;
} remote;

static void *signal_often(void *opaque) {
  remote *remote = opaque;
  for (int round = 0; round < 100; round++) {
    int before = remote->performed;
    if (rondo_source_signal(remote->source, 0) < 0) return "no signal";
    while (remote->performed == before) sched_yield();
  }
  // Brought forward while the loop sleeps.
  if (rondo_timer_set_date(remote->timer, 0) < 0) return "no date";
  while (remote->fired == 0) sched_yield();
  // Until it is heard: the run may not have begun.
  rondo_loop_stop(remote->loop);
  return NULL;
}

static const char *remote_control(void) {
  remote remote = {0};
  DO(rondo_loop_current(&remote.loop));
  DO(rondo_source_new(&remote.source, 0, on_source, NULL, NULL, &remote.performed, NULL));
  DO(rondo_timer_new(&remote.timer, RONDO_FOREVER, RONDO_SECOND, 0, on_timer, &remote.fired, NULL));
  DO(rondo_loop_add(remote.loop, remote.source, NULL));
  DO(rondo_loop_add(remote.loop, remote.timer, NULL));
  pthread_t other = begin_thread(signal_often, &remote);
  CHECK(rondo_loop_run(remote.loop, NULL, RONDO_FOREVER, 0) == RONDO_STOPPED);
  void *failure;
  pthread_join(other, &failure);
  if (failure) return failure;
  CHECK(remote.performed >= 100 && remote.fired == 1);
  DO(rondo_release(remote.source));
  DO(rondo_release(remote.timer));
  return NULL;
}

static void *churn(void *opaque) {
  void *item = opaque;
  for (int round = 0; round < 20000; round++) {
    if (rondo_retain(item) < 0 || rondo_item_is_valid(item) < 0 || rondo_release(item) < 0) return "lost";
  }
  return NULL;
}

static const char *shared_handle(void) {
  atomic_int destroyed = 0;
  rondo_timer *timer;
  DO(rondo_timer_new(&timer, 0, 0, 0, on_timer, &destroyed, count_up));
  pthread_t threads[3];
  for (int index = 0; index < 3; index++) threads[index] = begin_thread(churn, timer);
  const char *failure = NULL;
  for (int index = 0; index < 3; index++) {
    void *answer;
    pthread_join(threads[index], &answer);
    if (answer) failure = answer;
  }
  if (failure) return failure;
  CHECK(destroyed == 0);
  DO(rondo_release(timer));
  CHECK(destroyed == 1);
  return NULL;
}

static void *make_many(void *opaque) {
  for (int round = 0; round < 5000; round++) {
    rondo_timer *timers[4];
    for (int index = 0; index < 4; index++) {
      if (rondo_timer_new(&timers[index], 0, 0, 0, on_timer, opaque, count_up) < 0) return "not made";
    }
    for (int index = 0; index < 4; index++) {
      if (rondo_kind_of(timers[index]) != RONDO_TIMER || rondo_release(timers[index]) < 0) return "not mine";
      if (rondo_kind_of(timers[index]) != RONDO_ERROR_HANDLE) return "still there";
    }
  }
  return NULL;
}

static const char *many_handles(void) {
  atomic_int destroyed = 0;
  pthread_t threads[3];
  for (int index = 0; index < 3; index++) threads[index] = begin_thread(make_many, &destroyed);
  for (int index = 0; index < 3; index++) {
    void *failure;
    pthread_join(threads[index], &failure);
    if (failure) return failure;
  }
  CHECK(destroyed == 3 * 5000 * 4);
  return NULL;
}

// MARK: - A host

static const char *embedded(void) {
  atomic_int ran = 0, fired = 0;
  int64_t date;
  rondo_loop *loop;
  rondo_timer *timer;
  rondo_embedding *guest, *other;
  DO(rondo_loop_current(&loop));
  DO(rondo_timer_new(&timer, rondo_now() + 2 * RONDO_MILLISECOND, 0, 0, on_timer, &fired, NULL));
  DO(rondo_loop_add(loop, timer, NULL));
  DO(rondo_release(timer));
  DO(rondo_loop_post(loop, NULL, 0, count_up, &ran, NULL));
  DO(rondo_embedding_new(&guest, loop, NULL));
  FAILS(RONDO_ERROR_EMBEDDED, rondo_embedding_new(&other, loop, NULL));
  FAILS(RONDO_ERROR_EMBEDDED, rondo_loop_run(loop, NULL, 0, 0));
  int descriptor = rondo_embedding_descriptor(guest);
  CHECK(descriptor >= 0);
  DO(rondo_embedding_deadline(guest, &date));
  CHECK(date <= rondo_now());
  int host = epoll_create1(EPOLL_CLOEXEC);
  struct epoll_event event = {.events = EPOLLIN};
  CHECK(host >= 0 && epoll_ctl(host, EPOLL_CTL_ADD, descriptor, &event) == 0);
  int result = 0;
  while (result == 0) {
    CHECK(epoll_wait(host, &event, 1, 10000) == 1);
    result = rondo_embedding_turn(guest);
  }
  CHECK(result == RONDO_FINISHED && ran == 1 && fired == 1);
  DO(rondo_embedding_deadline(guest, &date));
  CHECK(date == RONDO_FOREVER);
  epoll_ctl(host, EPOLL_CTL_DEL, descriptor, NULL);
  DO(rondo_embedding_end(guest));
  DO(rondo_embedding_end(guest));
  FAILS(RONDO_ERROR_ENDED, rondo_embedding_turn(guest));
  FAILS(RONDO_ERROR_ENDED, rondo_embedding_descriptor(guest));
  DO(rondo_release(guest));
  DO(rondo_loop_run(loop, NULL, 0, 0));
  close(host);
  return NULL;
}

typedef struct inside {
  rondo_loop *loop;
  rondo_embedding *guest;
  int turn, run, embed, released;
} inside;

static void misuse(void *opaque) {
  inside *inside = opaque;
  inside->turn = rondo_embedding_turn(inside->guest);
  rondo_embedding *other;
  inside->embed = rondo_embedding_new(&other, inside->loop, "other");
  inside->run = rondo_loop_run(inside->loop, "other", 0, 0);
  inside->released = rondo_release(inside->guest);
}

static const char *embedding_in_its_turn(void) {
  inside inside = {0};
  DO(rondo_loop_current(&inside.loop));
  DO(rondo_embedding_new(&inside.guest, inside.loop, NULL));
  DO(rondo_loop_post(inside.loop, NULL, 0, misuse, &inside, NULL));
  CHECK(rondo_embedding_turn(inside.guest) == RONDO_FINISHED);
  CHECK(inside.turn == RONDO_ERROR_RUNNING && inside.embed == RONDO_ERROR_EMBEDDED && inside.run == RONDO_FINISHED);
  CHECK(inside.released == 0);
  FAILS(RONDO_ERROR_HANDLE, rondo_embedding_turn(inside.guest));
  CHECK(rondo_loop_run(inside.loop, NULL, 0, 0) == RONDO_FINISHED);
  return NULL;
}

static void embed_running(void *opaque) {
  inside *inside = opaque;
  inside->embed = rondo_embedding_new(&inside->guest, inside->loop, NULL);
}

static const char *embedding_of_a_running_loop(void) {
  inside inside = {0};
  DO(rondo_loop_current(&inside.loop));
  DO(rondo_loop_post(inside.loop, NULL, 0, embed_running, &inside, NULL));
  DO(rondo_loop_run(inside.loop, NULL, 0, 0));
  CHECK(inside.embed == RONDO_ERROR_RUNNING);
  return NULL;
}

static void *embed_and_leave(void *opaque) {
  inside *inside = opaque;
  rondo_loop_current(&inside->loop);
  inside->embed = rondo_embedding_new(&inside->guest, inside->loop, NULL);
  return NULL;
}

static const char *embedding_outlives_its_loop(void) {
  inside inside = {0};
  pthread_join(begin_thread(embed_and_leave, &inside), NULL);
  DO(inside.embed);
  FAILS(RONDO_ERROR_ENDED, rondo_embedding_turn(inside.guest));
  DO(rondo_embedding_end(inside.guest));
  DO(rondo_release(inside.guest));
  FAILS(RONDO_ERROR_HANDLE, rondo_release(inside.guest));
  return NULL;
}

const stranger_test stranger_threads[] = {
  {"what belongs to the loop's thread is refused elsewhere", wrong_thread},
  {"300,000 posts of three threads all run", posts},
  {"a post to a loop that ends is run, dropped or refused", posts_to_the_dying},
  {"another thread signals, moves a timer and stops", remote_control},
  {"threads share a handle", shared_handle},
  {"threads make and release handles side by side", many_handles},
  {"an epoll loop is the host of a loop", embedded},
  {"an embedding may be misused and released in its turn", embedding_in_its_turn},
  {"a running loop is not embedded", embedding_of_a_running_loop},
  {"an embedding may outlive its loop", embedding_outlives_its_loop},
  ENDED,
};
