// Events of a trace: any thread adds some, until the room is used up.
#pragma once

#include <stdint.h>

struct rondo_event {
  int64_t time;     // CLOCK_MONOTONIC in nanoseconds
  uint64_t label;   // of a callout
  uint64_t flow;    // what a post and its callout, or a signal and its, have in common; 0 for none
  uint64_t turn;
  int32_t thread;
  uint8_t what;     // enum rondo_event_kind
  uint8_t kind;     // of a callout
  uint8_t reason;   // of the end of a sleep; 255 for none
  uint8_t loop;     // its place in the trace
};

enum rondo_event_kind {
  rondo_callout_begins = 1,
  rondo_callout_ends,
  rondo_sleep_begins,
  rondo_sleep_ends,
  rondo_posted,
  rondo_flow_ends,  // in a callout that has begun already
};

struct rondo_trace;

// Closed at first. It is kept for good: a thread may be about to add to it.
struct rondo_trace *rondo_trace_make(uint32_t limit);
// Empties and opens it.
void rondo_trace_open(struct rondo_trace *trace);
// Any thread, and without a lock. Lost if there is no room.
void rondo_trace_add(struct rondo_trace *trace, const struct rondo_event *event);
// Closes it, and copies what was added; the room is for `limit`. How many. What another thread is still adding
// is left out; what a thread adds late, to a trace that was opened since, has an earlier time.
uint32_t rondo_trace_close(struct rondo_trace *trace, struct rondo_event *events);
// How many events found no room.
uint64_t rondo_trace_lost(const struct rondo_trace *trace);
