// What each inspected loop has done last, in plain memory: other threads read it while the loop runs or is stuck, a
// debugger and a core file by the symbol `rondo_loop_records`.
#pragma once

#include <stdint.h>

// A callout under way.
struct rondo_callout {
  uint64_t label;   // 48 bits of address, 16 of line: 0 for a name, 0xFFFF for code
  uint64_t item;    // tells items of a moment apart; 0 for what has none
  int64_t detail;   // a descriptor, an observer's activities, a signal's ticket
  int64_t began;    // CLOCK_MONOTONIC in nanoseconds, where somebody measures; else 0
  uint64_t kind;    // observer, timer, timeout, source, descriptor, block, main queue, job
};

// A turn in which something was done, or that slept.
struct rondo_turn {
  uint64_t number;    // of all the loop's turns so far
  int64_t woke;       // CLOCK_MONOTONIC in nanoseconds, if it slept
  int64_t asleep;     // nanoseconds; -1 if it did not sleep
  uint64_t label;     // of its first callout
  uint64_t item;
  int64_t detail;
  uint32_t callouts;
  uint8_t reason;     // descriptor, main queue, post, timer, end of the run's time; 255 if it did not sleep
  uint8_t kind;       // of its first callout; 255 if there was none
};

struct rondo_loop_record;

enum { rondo_callout_depth = 16, rondo_turn_count = 1024 };

// A record, in the list of all of them; NULL if there is no memory.
struct rondo_loop_record *rondo_record_make(void);
// Takes it out of the list and frees it: nobody uses it any more.
void rondo_record_free(struct rondo_loop_record *record);
void rondo_record_name(struct rondo_loop_record *record, const char *name, int32_t thread);

// The loop's thread.
void rondo_record_begin(struct rondo_loop_record *record, const struct rondo_callout *callout);
// Returns what has ended, for the time it began; with kind UINT64_MAX if nothing had begun.
struct rondo_callout rondo_record_end(struct rondo_loop_record *record);
// How many callouts are under way.
uint32_t rondo_record_depth(const struct rondo_loop_record *record);
// The callout that began last is called otherwise.
void rondo_record_relabel(struct rondo_loop_record *record, uint64_t label);
void rondo_record_turn(struct rondo_loop_record *record, const struct rondo_turn *turn);
// Changes the newest turn.
void rondo_record_amend(struct rondo_loop_record *record, const struct rondo_turn *turn);

// Any thread. Counts beginnings and ends.
uint64_t rondo_record_beat(const struct rondo_loop_record *record);
// The callouts under way, the outermost first, at most `rondo_callout_depth`; how many, or -1 if the loop is too quick.
int rondo_record_callouts(const struct rondo_loop_record *record, struct rondo_callout *callouts, uint64_t *beat);
// The last turns, the oldest first; how many.
int rondo_record_turns(const struct rondo_loop_record *record, struct rondo_turn *turns);
// Has the loop's thread note when the callout ends that is under way with this beat.
void rondo_record_watch_end(struct rondo_loop_record *record, uint64_t beat);
// When it ended, CLOCK_MONOTONIC in nanoseconds; 0 if it has not, or nobody saw.
int64_t rondo_record_ended(const struct rondo_loop_record *record, uint64_t beat);
