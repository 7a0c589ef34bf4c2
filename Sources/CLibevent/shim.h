// The C side of the wait layer: watches, the collector, and the wait itself.
//
// Nothing here calls out: inside event_base_loop only `rondo_collect` and `rondo_note_edge` run, and both write memory.
#pragma once

// Swift's Glibc module declares fd_set without the XOPEN spelling of its one field; the same declaration has to be seen
// here, or the importer reports two different fd_sets.
#include <features.h>
#pragma push_macro("__USE_XOPEN")
#undef __USE_XOPEN
#include <sys/select.h>
#pragma pop_macro("__USE_XOPEN")

#include <errno.h>
#include <event2/event.h>
#include <event2/event_struct.h>
#include <stdint.h>
#include <stdlib.h>

// One descriptor that became ready: whose it is, and how; bit 0: read, bit 1: write, bit 2: closed.
struct rondo_ready {
  uint64_t token;
  uint32_t readiness;
};

// What one wait collects. Owned by one wait set, touched by the loop's thread alone.
struct rondo_collection {
  struct rondo_ready *ready;
  uint32_t count;
  uint32_t capacity;
  uint32_t edges;  // bit 0: wakeup, bit 1: timer, bit 2: the main dispatch queue
};

// A registered descriptor: libevent's event, and where its readiness goes. One piece of memory, for one event touches it
// all.
struct rondo_watch {
  struct rondo_collection *collection;
  uint64_t token;  // for the loop's own descriptors: the edge bit
  struct event event;
  uint32_t is_registered;
};

static inline struct rondo_collection *rondo_collection_new(void) {
  struct rondo_collection *collection = calloc(1, sizeof *collection);
  collection->capacity = 64;  // doubled by rondo_collect whenever a batch is larger
  collection->ready = calloc(collection->capacity, sizeof *collection->ready);
  return collection;
}

static inline void rondo_collection_free(struct rondo_collection *collection) {
  free(collection->ready);
  free(collection);
}

static void rondo_collect(evutil_socket_t descriptor, short what, void *argument) {
  (void)descriptor;
  struct rondo_watch *watch = argument;
  struct rondo_collection *collection = watch->collection;
  if (collection->count == collection->capacity) {
    collection->capacity *= 2;
    collection->ready = realloc(collection->ready, collection->capacity * sizeof *collection->ready);
    if (!collection->ready) abort();
  }
  struct rondo_ready *ready = &collection->ready[collection->count++];
  ready->token = watch->token;
  ready->readiness = (what & EV_READ ? 1u : 0) | (what & EV_WRITE ? 2u : 0) | (what & EV_CLOSED ? 4u : 0);
}

static void rondo_note_edge(evutil_socket_t descriptor, short what, void *argument) {
  (void)descriptor;
  (void)what;
  struct rondo_watch *watch = argument;
  watch->collection->edges |= (uint32_t)watch->token;
}

// No lock (one thread), no clock reads (the loop has its own timers), no environment variables.
static inline struct event_base *rondo_base_new(void) {
  struct event_config *config = event_config_new();
  if (!config) return NULL;
  event_config_set_flag(config, EVENT_BASE_FLAG_NOLOCK | EVENT_BASE_FLAG_NO_CACHE_TIME | EVENT_BASE_FLAG_IGNORE_ENV);
  event_config_require_features(config, EV_FEATURE_ET);
  struct event_base *base = event_base_new_with_config(config);
  event_config_free(config);
  return base;
}

static inline struct rondo_watch *rondo_watch_new(struct rondo_collection *collection, uint64_t token) {
  struct rondo_watch *watch = calloc(1, sizeof *watch);
  watch->collection = collection;
  watch->token = token;
  return watch;
}

static inline void rondo_watch_stop(struct rondo_watch *watch) {
  if (!watch->is_registered) return;
  event_del(&watch->event);
  watch->is_registered = 0;
}

// Adds an event for the watch; 0, or the errno of the refusal.
static inline int rondo_watch_add(struct rondo_watch *watch, struct event *event, struct event_base *base,
                                  int descriptor, short interest, int is_edge) {
  errno = 0;
  if (event_assign(event, base, descriptor, interest | EV_PERSIST, is_edge ? rondo_note_edge : rondo_collect, watch))
    return EINVAL;
  return event_add(event, NULL) ? (errno ? errno : EINVAL) : 0;
}

// Registers or re-registers; 0, or the errno of the refusal.
//
// While the watch's event changes, another one holds its place: libevent then asks the kernel for the difference, one
// epoll_ctl for one change. It cannot hold two triggers for one descriptor, so a change of trigger deletes first.
static inline int rondo_watch_set(struct rondo_watch *watch, struct event_base *base, int descriptor, short interest,
                                  int is_edge) {
  if (!interest || (watch->is_registered && ((watch->event.ev_events ^ interest) & EV_ET))) rondo_watch_stop(watch);
  if (!interest) return 0;
  struct event holder;
  int is_held = watch->is_registered;
  if (is_held) {
    int error = rondo_watch_add(watch, &holder, base, descriptor, interest, is_edge);
    rondo_watch_stop(watch);
    if (error) return error;
  }
  int error = rondo_watch_add(watch, &watch->event, base, descriptor, interest, is_edge);
  watch->is_registered = !error;
  if (is_held) event_del(&holder);
  return error;
}

// Takes the registration back and makes it anew, for the file that is open under the number now.
static inline void rondo_watch_again(struct rondo_watch *watch) {
  if (!watch->is_registered) return;
  event_del(&watch->event);
  event_add(&watch->event, NULL);
}

static inline void rondo_watch_free(struct rondo_watch *watch) {
  rondo_watch_stop(watch);
  free(watch);
}

// One wait, or one look; restarts by itself after a signal. What was ready is in `collection` afterwards.
static inline void rondo_wait(struct event_base *base, struct rondo_collection *collection, int blocks) {
  collection->count = 0;
  collection->edges = 0;
  event_base_loop(base, blocks ? EVLOOP_ONCE : EVLOOP_ONCE | EVLOOP_NONBLOCK);
}

// libevent prints its complaints to stderr; the loop reports refusals itself, typed.
static void rondo_no_log(int severity, const char *message) {
  (void)severity;
  (void)message;
}
static inline void rondo_silence_libevent(void) { event_set_log_callback(rondo_no_log); }
