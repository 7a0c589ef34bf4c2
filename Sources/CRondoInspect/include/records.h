// The records of this process's loops: made, listed, read. What is in one, and how callouts are written: record.h.
#pragma once

#include <stdint.h>

#include "../../CLinux/record.h"

// A record, in the list of all of them; NULL if there is no memory. The caller makes sure that no other thread is in any
// of these three.
struct rondo_loop_record *rondo_record_make(void);
// Takes it out of the list and frees it: no thread may use it any more.
void rondo_record_free(struct rondo_loop_record *record);
void rondo_record_name(struct rondo_loop_record *record, const char *name, int32_t thread);

// Any thread. Turns a listener on or off: `listener` is one of rondo_listener. Whether that is new.
int rondo_record_set_listener(struct rondo_loop_record *record, uint32_t listener, int is_on);

// Any thread. Counts beginnings and ends.
uint64_t rondo_record_beat(const struct rondo_loop_record *record);
// The callouts under way, the outermost first, at most `rondo_callout_depth`; how many, or -1 if the loop is too quick.
int rondo_record_callouts(const struct rondo_loop_record *record, struct rondo_callout *callouts, uint64_t *beat);
// The last turns, the oldest first; how many.
int rondo_record_turns(const struct rondo_loop_record *record, struct rondo_turn *turns);
// Has the loop's thread note when the callout ends that is under way with this beat.
void rondo_record_watch_end(struct rondo_loop_record *record, uint64_t beat);
// When it ended, CLOCK_MONOTONIC in nanoseconds; 0 if it has not, or was not watched.
int64_t rondo_record_ended(struct rondo_loop_record *record, uint64_t beat);

// From here on the loop's thread.

// Notes when the callout ended that was the last to end, if its end is watched.
void rondo_record_note_end(struct rondo_loop_record *record);

// How many callouts are under way.
static inline uint32_t rondo_record_depth(const struct rondo_loop_record *record) { return RONDO_LOAD(record->depth); }

// The callout that began last is called otherwise.
static inline void rondo_record_relabel(struct rondo_loop_record *record, uint64_t label) {
  uint32_t depth = RONDO_LOAD(record->depth);
  if (depth > 0 && depth <= rondo_callout_depth) RONDO_STORE(record->callouts[depth - 1].label, label);
}

// A turn is kept from now on; it stays the newest until the next.
static inline struct rondo_turn *rondo_turn_begin(
    struct rondo_loop_record *record, uint64_t number, int64_t woke, int64_t asleep, uint8_t reason) {
  RONDO_PROBE("turn", number, reason);
  uint64_t count = RONDO_LOAD(record->turns);
  struct rondo_turn *turn = &record->ring[count % rondo_turn_count];
  RONDO_STORE(turn->number, number);
  RONDO_STORE(turn->woke, woke);
  RONDO_STORE(turn->asleep, asleep);
  RONDO_STORE(turn->callouts, 0);
  RONDO_STORE(turn->reason, reason);
  RONDO_STORE(turn->kind, 255);
  __atomic_store_n(&record->turns, count + 1, __ATOMIC_RELEASE);
  return turn;
}

// It makes a callout. How many it has made.
static inline uint32_t rondo_turn_add_callout(struct rondo_turn *turn) {
  uint32_t callouts = RONDO_LOAD(turn->callouts) + 1;
  RONDO_STORE(turn->callouts, callouts);
  return callouts;
}

// What it called first: its cause.
static inline void rondo_turn_set_cause(
    struct rondo_turn *turn, uint8_t kind, uint64_t label, uint64_t item, int64_t detail) {
  RONDO_STORE(turn->label, label);
  RONDO_STORE(turn->item, item);
  RONDO_STORE(turn->detail, detail);
  RONDO_STORE(turn->kind, kind);
}

static inline void rondo_turn_relabel(struct rondo_turn *turn, uint64_t label) { RONDO_STORE(turn->label, label); }
