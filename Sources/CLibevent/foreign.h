// The C side of an event base that a loop hands to a library on libevent: RondoGuests.
#pragma once

#include "shim.h"

// A base whose callbacks are a library's, dispatched by a callout of its loop and never inside the loop's own wait; and
// an event of ours that ends a wait at once. libevent keeps timeouts to itself, but a base that is precise arms a timerfd
// in its epoll set whenever it waits: so it is made to wait, and the epoll set tells the rest.
struct rondo_foreign {
  struct event_base *base;
  struct event ring;   // an eventfd that is always readable, edge-triggered: EPOLL_CTL_MOD of it rings
  struct event round;  // ends a dispatch: it goes through the queue of callbacks with the others
  int rounds_left;
  int is_arming;
  int has_rung;
};

static void rondo_end_wait(evutil_socket_t descriptor, short what, void *argument) {
  (void)descriptor;
  (void)what;
  struct rondo_foreign *foreign = argument;
  foreign->has_rung = 1;
  // What else has become active stays so until the base is dispatched.
  if (foreign->is_arming) event_base_loopbreak(foreign->base);
}

// Has a dispatch end after two rounds, a callback and what that has deferred, as bufferevents do. Otherwise libevent goes on
// while anything is active, and callbacks that make others active keep it from returning. The rest is the next turn's.
static void rondo_end_round(evutil_socket_t descriptor, short what, void *argument) {
  (void)descriptor;
  (void)what;
  struct rondo_foreign *foreign = argument;
  if (event_base_get_num_events(foreign->base, EVENT_BASE_COUNT_ACTIVE) == 0) return;
  // Behind all that is active now.
  if (foreign->rounds_left-- > 0) event_active(&foreign->round, EV_TIMEOUT, 0);
  else event_base_loopbreak(foreign->base);
}

static inline struct rondo_foreign *rondo_foreign_new(struct event_base *base, int descriptor) {
  struct rondo_foreign *foreign = rondo_memory(calloc(1, sizeof *foreign));
  foreign->base = base;
  // Before everybody else's, which have the middle one of two.
  event_base_priority_init(base, 2);
  event_assign(&foreign->ring, base, descriptor, EV_READ | EV_PERSIST | EV_ET, rondo_end_wait, foreign);
  event_priority_set(&foreign->ring, 0);
  event_add(&foreign->ring, NULL);
  event_assign(&foreign->round, base, -1, 0, rondo_end_round, foreign);
  return foreign;
}

// Before the base.
static inline void rondo_foreign_free(struct rondo_foreign *foreign) {
  event_del(&foreign->ring);
  free(foreign);
}

// Whether a callback is due, whatever the kernel says.
static inline int rondo_foreign_is_active(const struct rondo_foreign *foreign) {
  return event_base_get_num_events(foreign->base, EVENT_BASE_COUNT_ACTIVE) > 0;
}

static inline int rondo_foreign_has_events(const struct rondo_foreign *foreign) {
  return event_base_get_num_events(foreign->base, EVENT_BASE_COUNT_ADDED | EVENT_BASE_COUNT_ACTIVE) > 1;
}

// Waits for nothing, which arms for the next timeout: timerfd_settime(2), epoll_wait(2). It has to have been rung, and
// nothing else to be ready: libevent takes 32 events at a time at first, and would call those before the ring.
// Whether a callback is due, or minus errno.
static inline int rondo_foreign_arm(struct rondo_foreign *foreign) {
  foreign->is_arming = 1;
  foreign->has_rung = 0;
  errno = 0;
  int outcome = event_base_loop(foreign->base, EVLOOP_ONCE);
  foreign->is_arming = 0;
  if (outcome < 0) return -(errno ? errno : EBADF);
  // A lot that became ready in that moment and came before the ring: what it has set is not armed for yet.
  return !foreign->has_rung || rondo_foreign_is_active(foreign);
}

static inline void rondo_foreign_dispatch(struct rondo_foreign *foreign) {
  foreign->rounds_left = 2;
  // With the lowest priority, so that it ends no round before all others have had theirs.
  event_priority_set(&foreign->round, event_base_get_npriorities(foreign->base) - 1);
  event_active(&foreign->round, EV_TIMEOUT, 0);
  event_base_loop(foreign->base, EVLOOP_ONCE | EVLOOP_NONBLOCK);
  // A callback may have ended the dispatch before.
  event_del(&foreign->round);
}
