// The C side of the wait layer: bases, watches, the collector, and the wait itself.
//
// Nothing here calls out: inside event_base_loop only `rondo_collect` and `rondo_note_edge` run, and both write memory.
// libevent's log and its fatal callback are the program's: nothing here sets them.
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
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "assumptions.h"

// Memory, or the end: nothing of a loop could go on without it.
static inline void *rondo_memory(void *memory) {
  if (memory) return memory;
  static const char complaint[] = "Rondo: no memory is left for a loop's descriptors.\n";
  ssize_t written = write(2, complaint, sizeof complaint - 1);
  (void)written;
  abort();
}

// MARK: - What a wait collects

// Bits of readiness and interest.
enum { rondo_read = 1, rondo_write = 2, rondo_closed = 4 };

struct rondo_watch;
struct rondo_collection;

// One source whose descriptor became ready: whose it is, and how.
struct rondo_ready {
  uint64_t token;
  uint32_t readiness;
  struct rondo_watch *watch;  // good for this wait
};

// One of the loop's own descriptors in one wait set: edge-triggered, and never read.
struct rondo_own {
  struct rondo_collection *collection;
  uint32_t edge;
  uint32_t is_registered;
  struct event event;
};

// A base, or none, and what one wait by it collects. Owned by one wait set, touched by the loop's thread alone.
struct rondo_collection {
  struct event_base *base;
  struct rondo_ready *ready;
  uint32_t count;
  uint32_t capacity;
  uint32_t edges;     // which of the loop's own have become ready: bits, in their order
  uint32_t told;      // how many events libevent has told since it last asked the kernel
  uint32_t batch;     // how many events it takes from the kernel at a time
  uint32_t is_again;  // the kernel is asked once more in the same wait
  uint32_t is_kept;   // what was collected has not been taken: it is for the next wait
  struct rondo_own own[2];       // wakeup, timer
  struct rondo_own *main_queue;  // NULL until it is first watched
};

static inline struct rondo_collection *rondo_collection_new(void) {
  return rondo_memory(calloc(1, sizeof(struct rondo_collection)));
}

static inline void rondo_collection_free(struct rondo_collection *collection) {
  free(collection->ready);
  free(collection->main_queue);
  free(collection);
}

// MARK: - The loop's own descriptors

static void rondo_note_edge(evutil_socket_t descriptor, short what, void *argument) {
  (void)descriptor;
  (void)what;
  struct rondo_own *own = argument;
  own->collection->told++;
  own->collection->edges |= own->edge;
}

// By number: wakeup, timer, main dispatch queue. NULL for a main queue that was never watched.
static inline struct rondo_own *rondo_own_of(struct rondo_collection *collection, int index) {
  return index < 2 ? &collection->own[index] : collection->main_queue;
}

static inline void rondo_own_stop(struct rondo_collection *collection, int index) {
  struct rondo_own *own = rondo_own_of(collection, index);
  if (!own) return;
  if (own->is_registered) event_del(&own->event);
  own->is_registered = 0;
}

// 0, or the errno of the refusal.
static inline int rondo_own_start(struct rondo_collection *collection, int index, int descriptor) {
  if (index == 2 && !collection->main_queue) collection->main_queue = rondo_memory(calloc(1, sizeof(struct rondo_own)));
  struct rondo_own *own = rondo_own_of(collection, index);
  own->collection = collection;
  own->edge = 1u << index;
  short what = EV_READ | EV_PERSIST | EV_ET;
  errno = 0;
  if (event_assign(&own->event, collection->base, descriptor, what, rondo_note_edge, own)) return EINVAL;
  if (event_add(&own->event, NULL)) return errno ? errno : EINVAL;
  own->is_registered = 1;
  return 0;
}

// MARK: - Watched descriptors

struct rondo_number;

// What one source wants to hear of one descriptor number, in one wait set.
struct rondo_watch {
  struct rondo_watch *next, *previous;  // of the same number, in order of arrival
  struct rondo_number *number;
  void *source;  // borrowed: a source leaves its watches before it goes
  uint64_t token;
  struct rondo_watch *sibling;  // of the same source, in another mode
  uint32_t record;              // its record's place plus one, while the kernel is asked once more in a wait; else 0
  uint8_t mode;                 // the index of the wait set's mode
  uint8_t interest;
  uint8_t is_edge;
  uint8_t has_told_closed;  // of a watch for the close alone: that this close has been told
};

// A descriptor number in one wait set: one event of libevent's for all its watches, with whatever any of them wants.
//
// The first watch lies in the same piece of memory, for a number usually has no other.
struct rondo_number {
  struct rondo_collection *collection;
  struct rondo_watch *first, *last;
  uint32_t wanted[3];  // how many watches want to read, to write, to hear of the close
  uint32_t levels;     // how many watches want anything, level-triggered
  uint32_t edges;      // and edge-triggered
  uint16_t flags;      // what libevent was asked for; 0: nothing
  uint16_t lends;      // whether `lent` is in use
  struct rondo_watch lent;
  struct event event;
};

static inline void rondo_record(struct rondo_collection *collection, struct rondo_watch *watch, uint32_t readiness) {
  if (collection->count == collection->capacity) {
    collection->capacity = collection->capacity ? 2 * collection->capacity : 4;
    collection->ready = rondo_memory(realloc(collection->ready, collection->capacity * sizeof *collection->ready));
  }
  struct rondo_ready *record = &collection->ready[collection->count++];
  record->token = watch->token;
  record->readiness = readiness;
  record->watch = watch;
}

static void rondo_note(struct rondo_number *number, struct rondo_watch *watch, uint32_t ready) {
  struct rondo_collection *collection = number->collection;
  uint32_t told = ready & watch->interest;
  if (watch->interest == rondo_closed) {
    if (!(ready & rondo_closed)) {
      watch->has_told_closed = 0;
      // An error, or a hang-up of both sides: the loop asks the kernel which it was.
      if (number->flags == (EV_READ | EV_CLOSED | EV_ET)) told = ready;
    } else if (watch->has_told_closed) {
      return;
    } else {
      watch->has_told_closed = 1;
    }
  }
  if (!told) return;
  if (watch->record) {
    collection->ready[watch->record - 1].readiness |= told;
    return;
  }
  rondo_record(collection, watch, told);
  if (collection->is_again) watch->record = collection->count;
}

static void rondo_collect(evutil_socket_t descriptor, short what, void *argument) {
  (void)descriptor;
  struct rondo_number *number = argument;
  struct rondo_collection *collection = number->collection;
  uint32_t ready =
      (what & EV_READ ? rondo_read : 0u) | (what & EV_WRITE ? rondo_write : 0u) | (what & EV_CLOSED ? rondo_closed : 0u);
  collection->told++;
  struct rondo_watch *watch = number->first;
  // The usual case: what is ready is what the only watch wants.
  if (!watch->next && !number->wanted[2] && !collection->is_again) return rondo_record(collection, watch, ready);
  for (; watch; watch = watch->next) rondo_note(number, watch, ready);
}

static inline struct rondo_number *rondo_number_new(struct rondo_collection *collection) {
  struct rondo_number *number = rondo_memory(calloc(1, sizeof *number));
  number->collection = collection;
  return number;
}

// A watch that wants nothing yet. O(1).
static inline struct rondo_watch *rondo_watch_new(struct rondo_number *number, void *source, uint64_t token,
                                                  uint8_t mode, int is_edge) {
  struct rondo_watch *watch;
  if (number->lends) {
    watch = rondo_memory(calloc(1, sizeof *watch));
  } else {
    number->lends = 1;
    watch = &number->lent;
    memset(watch, 0, sizeof *watch);
  }
  watch->number = number;
  watch->source = source;
  watch->token = token;
  watch->mode = mode;
  watch->is_edge = is_edge != 0;
  watch->previous = number->last;
  if (number->last) number->last->next = watch;
  else number->first = watch;
  number->last = watch;
  return watch;
}

// Notes what a watch wants from now on; `rondo_number_update` tells libevent. O(1).
static inline void rondo_watch_want(struct rondo_watch *watch, uint8_t interest) {
  struct rondo_number *number = watch->number;
  for (int kind = 0; kind < 3; kind++) number->wanted[kind] += (interest >> kind & 1) - (watch->interest >> kind & 1);
  uint32_t *wanting = watch->is_edge ? &number->edges : &number->levels;
  *wanting += (interest != 0) - (watch->interest != 0);
  watch->interest = interest;
  watch->has_told_closed = 0;
}

// Takes a watch that wants nothing off its number. O(1).
static inline void rondo_watch_free(struct rondo_watch *watch) {
  struct rondo_number *number = watch->number;
  if (watch->previous) watch->previous->next = watch->next;
  else number->first = watch->next;
  if (watch->next) watch->next->previous = watch->previous;
  else number->last = watch->previous;
  if (watch == &number->lent) number->lends = 0;
  else free(watch);
}

// libevent's flags for what the watches of a number want together.
//
// An error, or a hang-up of both sides, reaches libevent as readable and writable, not as closed. If nothing but the
// close is waited for, reading is asked for too, and the loop asks the kernel which it was; edge-triggered, or unread
// data would be told at every wait. Where others watch the descriptor, the trigger is theirs and so is the error.
static inline uint16_t rondo_number_flags(const struct rondo_number *number) {
  uint16_t flags = (number->wanted[0] ? EV_READ : 0) | (number->wanted[1] ? EV_WRITE : 0) |
                   (number->wanted[2] ? EV_CLOSED : 0);
  if (flags == EV_CLOSED) return EV_READ | EV_CLOSED | EV_ET;
  return flags && number->edges ? flags | EV_ET : flags;
}

// What came of asking the kernel for something else.
struct rondo_outcome {
  int error;      // the errno of a refusal, or 0
  int has_moved;  // the number stood for another file, or none: the one that was watched may still be in the set
};

// Nothing of the number is reported any more.
static inline struct rondo_outcome rondo_number_stop(struct rondo_number *number) {
  struct rondo_outcome outcome = {0, 0};
  if (!number->flags) return outcome;
  number->flags = 0;
  errno = 0;
  event_del(&number->event);
  outcome.has_moved = rondo_has_deleted_none();
  return outcome;
}

// Lets go of a number of which nothing is reported, with all its watches.
static inline void rondo_number_free(struct rondo_number *number) {
  while (number->first) rondo_watch_free(number->first);
  free(number);
}

static inline int rondo_number_add(struct rondo_number *number, struct event *event, int descriptor, uint16_t flags) {
  struct event_base *base = number->collection->base;
  errno = 0;
  if (event_assign(event, base, descriptor, (short)(flags | EV_PERSIST), rondo_collect, number)) return EINVAL;
  if (event_add(event, NULL)) return errno ? errno : EINVAL;
  return 0;
}

// Has libevent ask the kernel for what the watches want together: nothing, or one epoll_ctl(2) for each direction that
// changes. Without a base it does nothing.
//
// While the event changes, another one holds its place: libevent then asks the kernel for the difference. It cannot
// hold two triggers for one descriptor, so a change of trigger deletes first. If another file was open under the number,
// libevent has registered that one instead.
static inline struct rondo_outcome rondo_number_update(struct rondo_number *number, int descriptor) {
  struct rondo_outcome outcome = {0, 0};
  uint16_t flags = rondo_number_flags(number);
  if (!number->collection->base || flags == number->flags) return outcome;
  if (!flags || (number->flags && ((number->flags ^ flags) & EV_ET))) outcome = rondo_number_stop(number);
  // What the deletion found out is not asked again: libevent would warn of a closed number, or take the stranger in.
  if (!flags || outcome.has_moved) return outcome;
  struct event holder;
  int is_held = number->flags != 0;
  if (is_held) {
    outcome.error = rondo_number_add(number, &holder, descriptor, flags);
    outcome.has_moved |= rondo_has_added_instead();
    outcome.has_moved |= rondo_number_stop(number).has_moved;
    if (outcome.error) return outcome;
  }
  outcome.error = rondo_number_add(number, &number->event, descriptor, flags);
  if (!outcome.error) number->flags = flags;
  if (is_held) event_del(&holder);
  return outcome;
}

// Takes back an event whose file is no longer the one under its number, for good or until the next update.
static inline void rondo_number_forget(struct rondo_number *number) {
  for (struct rondo_watch *watch = number->first; watch; watch = watch->next) rondo_watch_want(watch, 0);
  rondo_number_stop(number);
}

// Arms the same events again: what is ready is told once more, edge-triggered or not. 0, or errno: ENOENT or EBADF
// if another file, or none, is open under the number now. One epoll_ctl(2).
static inline int rondo_number_confirm(const struct rondo_number *number, int epoll, int descriptor) {
  struct epoll_event event = rondo_registration(number->flags, descriptor);
  return epoll_ctl(epoll, EPOLL_CTL_MOD, descriptor, &event) ? errno : 0;
}

// MARK: - The wait

// Asks until the kernel has nothing new: libevent takes so many events at a time, and more after a full lot.
//
// Level-triggered descriptors come round again and again, and are told once.
static int rondo_wait_for_rest(struct rondo_collection *collection) {
  for (uint32_t index = 0; index < collection->count; index++) collection->ready[index].watch->record = index + 1;
  collection->is_again = 1;
  int error = 0;
  uint32_t known;
  do {
    if (collection->batch < rondo_largest_batch) collection->batch *= 2;
    known = collection->count;
    collection->told = 0;
    if (event_base_loop(collection->base, EVLOOP_ONCE | EVLOOP_NONBLOCK) < 0) error = errno ? errno : EBADF;
  } while (!error && collection->told >= collection->batch && collection->count > known);
  collection->is_again = 0;
  for (uint32_t index = 0; index < collection->count; index++) collection->ready[index].watch->record = 0;
  return error;
}

// One wait, or one look; restarts by itself after a signal. All that was ready is in `collection` afterwards. 0, or errno.
static inline __attribute__((always_inline)) int rondo_wait(struct rondo_collection *collection, int blocks) {
  if (collection->is_kept) {
    collection->is_kept = 0;
    return 0;
  }
  collection->count = 0;
  collection->edges = 0;
  collection->told = 0;
  int flags = blocks ? EVLOOP_ONCE : EVLOOP_ONCE | EVLOOP_NONBLOCK;
  if (event_base_loop(collection->base, flags) < 0) return errno ? errno : EBADF;
  return collection->told < collection->batch ? 0 : rondo_wait_for_rest(collection);
}

// One look. What is ready is for the next wait. 0 if nothing is; -1 if something is; else errno.
static inline __attribute__((always_inline)) int rondo_look(struct rondo_collection *collection) {
  int error = rondo_wait(collection, 0);
  if (error != 0 || (collection->count | collection->edges) == 0) return error;
  collection->is_kept = 1;
  return -1;
}
