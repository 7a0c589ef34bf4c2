// The physical limit: epoll, edge-triggered eventfds that are never read, a timerfd with absolute times, and for posted
// blocks an array under a mutex.

#include "peers.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

// What one wait takes at most, as libuv does.
enum { batch = 1024 };

typedef struct {
  bench_callout callout;
  void *context;
} call;

typedef struct {
  call *calls;
  size_t count;
  size_t capacity;
} call_list;

typedef struct raw_item raw_item;

typedef struct {
  int epoll;
  bool stops;
  raw_item *signalled;
  raw_item *post_wake;
  pthread_mutex_t lock;
  call_list posted;   // under the lock
  call_list running;  // loop thread
} raw_loop;

struct raw_item {
  call call;
  int descriptor;
  bool owns_descriptor;
  raw_loop *loop;
};

static raw_item *item_add(
  raw_loop *loop, int descriptor, bool owns, uint32_t events, bench_callout callout, void *context) {
  raw_item *item = malloc(sizeof *item);
  if (item == NULL) return NULL;
  *item = (raw_item){{callout, context}, descriptor, owns, loop};
  struct epoll_event event = {.events = events, .data = {.ptr = item}};
  if (descriptor >= 0 && epoll_ctl(loop->epoll, EPOLL_CTL_ADD, descriptor, &event) == 0) return item;
  free(item);
  return NULL;
}

static void item_remove(void *opaque) {
  raw_item *item = opaque;
  epoll_ctl(item->loop->epoll, EPOLL_CTL_DEL, item->descriptor, NULL);
  if (item->owns_descriptor) close(item->descriptor);
  free(item);
}

// MARK: Wakes

static void *wake_add(void *loop, bench_callout callout, void *context) {
  int descriptor = bench_eventfd(0);
  void *item = item_add(loop, descriptor, true, EPOLLIN | EPOLLET, callout, context);
  if (item == NULL && descriptor >= 0) close(descriptor);
  return item;
}

static void wake_send(void *opaque) {
  raw_item *item = opaque;
  uint64_t one = 1;
  ssize_t written = write(item->descriptor, &one, sizeof one);
  (void)written;  // A failed write is a lost wake, and the sender counts those.
}

// MARK: Posts

static void serve_posts(void *opaque) {
  raw_loop *loop = opaque;
  pthread_mutex_lock(&loop->lock);
  call_list list = loop->posted;
  loop->posted = loop->running;
  pthread_mutex_unlock(&loop->lock);
  for (size_t i = 0; i < list.count; i += 1) list.calls[i].callout(list.calls[i].context);
  list.count = 0;
  loop->running = list;
}

static void post(void *opaque, size_t count, bench_callout callout, void *context) {
  raw_loop *loop = opaque;
  for (size_t i = 0; i < count; i += 1) {
    pthread_mutex_lock(&loop->lock);
    call_list *list = &loop->posted;
    if (list->count == list->capacity) {
      list->capacity = list->capacity == 0 ? 64 : list->capacity * 2;
      list->calls = realloc(list->calls, list->capacity * sizeof *list->calls);
      if (list->calls == NULL) abort();
    }
    list->calls[list->count++] = (call){callout, context};
    bool is_first = list->count == 1;
    pthread_mutex_unlock(&loop->lock);
    if (is_first) wake_send(loop->post_wake);
  }
}

// MARK: The loop

static void loop_close(void *opaque) {
  raw_loop *loop = opaque;
  if (loop->post_wake != NULL) item_remove(loop->post_wake);
  if (loop->epoll >= 0) close(loop->epoll);
  free(loop->posted.calls);
  free(loop->running.calls);
  pthread_mutex_destroy(&loop->lock);
  free(loop);
}

static void *loop_open(bool posts) {
  raw_loop *loop = calloc(1, sizeof *loop);
  if (loop == NULL) return NULL;
  pthread_mutex_init(&loop->lock, NULL);
  loop->epoll = epoll_create1(EPOLL_CLOEXEC);
  if (loop->epoll >= 0 && posts) loop->post_wake = wake_add(loop, serve_posts, loop);
  if (loop->epoll >= 0 && posts == (loop->post_wake != NULL)) return loop;
  loop_close(loop);
  return NULL;
}

static void turn(raw_loop *loop, int timeout) {
  struct epoll_event events[batch];
  int count = epoll_wait(loop->epoll, events, batch, timeout);
  for (int i = 0; i < count; i += 1) {
    raw_item *item = events[i].data.ptr;
    item->call.callout(item->call.context);
  }
  if (loop->signalled != NULL) loop->signalled->call.callout(loop->signalled->call.context);
}

static void loop_run(void *opaque) {
  raw_loop *loop = opaque;
  loop->stops = false;
  while (!loop->stops) turn(loop, loop->signalled == NULL ? -1 : 0);
}

static void loop_stop(void *opaque) {
  raw_loop *loop = opaque;
  loop->stops = true;
}

static void loop_poll(void *opaque) {
  turn(opaque, 0);
}

// MARK: Signalled sources and descriptors

static void *signal_add(void *opaque, bench_callout callout, void *context) {
  raw_loop *loop = opaque;
  raw_item *item = malloc(sizeof *item);
  if (item == NULL) return NULL;
  *item = (raw_item){{callout, context}, -1, false, loop};
  loop->signalled = item;
  return item;
}

static void signal_remove(void *opaque) {
  raw_item *item = opaque;
  item->loop->signalled = NULL;
  free(item);
}

static void *watch_add(void *loop, int descriptor, bench_callout callout, void *context) {
  return item_add(loop, descriptor, false, EPOLLIN, callout, context);
}

// MARK: Timers

static void arm(int timer, int64_t due) {
  struct itimerspec when = {.it_value = {.tv_sec = due / 1000000000, .tv_nsec = due % 1000000000}};
  timerfd_settime(timer, TFD_TIMER_ABSTIME, &when, NULL);
}

static bool ticks_run(bench_ticks *ticks) {
  int timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
  int epoll = epoll_create1(EPOLL_CLOEXEC);
  struct epoll_event event = {.events = EPOLLIN | EPOLLET, .data = {.fd = timer}};
  bool opened = timer >= 0 && epoll >= 0 && epoll_ctl(epoll, EPOLL_CTL_ADD, timer, &event) == 0;
  bool done = !opened;
  int64_t due = ticks->first;
  if (opened) arm(timer, due);
  while (!done) {
    struct epoll_event events[16];
    if (epoll_wait(epoll, events, 16, -1) <= 0) continue;
    done = bench_ticks_hit(ticks);
    if (bench_ticks_wants_claim(ticks)) bench_ticks_claim(ticks, due);
    due = bench_ticks_due(ticks, ticks->next);
    if (!done) arm(timer, due);
  }
  if (epoll >= 0) close(epoll);
  if (timer >= 0) close(timer);
  return opened;
}

const bench_peer bench_peer_raw = {
  .name = "raw",
  .summary = "epoll, edge-triggered eventfd, absolute timerfd: the limit",
  .open = loop_open,
  .close = loop_close,
  .run = loop_run,
  .stop = loop_stop,
  .poll = loop_poll,
  .wake_add = wake_add,
  .wake_send = wake_send,
  .wake_remove = item_remove,
  .signal_add = signal_add,
  .signal_remove = signal_remove,
  .watch_add = watch_add,
  .watch_remove = item_remove,
  .post = post,
  .ticks_run = ticks_run,
};
