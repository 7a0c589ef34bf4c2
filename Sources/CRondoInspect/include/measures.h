// What callouts took, by kind and place: histograms in HdrHistogram's form, of fixed size. One writer, the loop's thread;
// any thread reads.
#pragma once

#include <stdint.h>

// Values to 3 %: 32 steps to each doubling, from 1 ns to 73 minutes.
enum { rondo_histogram_buckets = 1216 };

// A copy of a histogram. Nanoseconds.
struct rondo_histogram {
  uint64_t count;
  uint64_t sum;
  uint64_t longest;
  uint64_t *buckets;  // the reader's room for `rondo_histogram_buckets`
};

// What is kept of a place.
struct rondo_place {
  uint64_t label;
  uint64_t callouts;
  uint64_t wakeups;  // how often it was the first callout after a sleep
  uint64_t missed;   // grid points of timers
  uint8_t kind;
};

struct rondo_measures;

// So many places are kept apart; the rest is one of its own.
enum { rondo_place_limit = 512 };

struct rondo_measures *rondo_measures_make(void);
void rondo_measures_free(struct rondo_measures *measures);

// The loop's thread. A callout begins at this depth and time, and was due before; 0 if that is not known. Whether the
// caller has to choose whether the place is wanted, and to begin once more.
int rondo_measures_begin(
    struct rondo_measures *measures, uint32_t depth, uint64_t label, uint64_t kind, int64_t time, int64_t due);
void rondo_measures_choose(struct rondo_measures *measures, uint32_t depth, int is_wanted);
// It was the first after so many sleeps, and a timer has missed so many grid points.
void rondo_measures_add(struct rondo_measures *measures, uint32_t depth, uint32_t wakeups, uint32_t missed);
// One that is not counted begins.
void rondo_measures_skip(struct rondo_measures *measures, uint32_t depth);
void rondo_measures_end(struct rondo_measures *measures, uint32_t depth, int64_t time);

// Any thread. Has every place chosen again.
void rondo_measures_choose_anew(struct rondo_measures *measures);
// Something that is known by a key has become ready: a signal, a job. The last few thousand are kept.
void rondo_measures_note(struct rondo_measures *measures, uint64_t key, int64_t time);
// When; 0 if that is not kept.
int64_t rondo_measures_noted(struct rondo_measures *measures, uint64_t key);

// Any thread. The place of an index, counted from 0; 0 if there is none. The histograms may be NULL.
int rondo_measures_read(
    const struct rondo_measures *measures, uint32_t index, struct rondo_place *place, struct rondo_histogram *ready,
    struct rondo_histogram *run);
// The greatest value of a bucket.
uint64_t rondo_histogram_value(uint32_t bucket);
// The bucket of a value.
uint32_t rondo_histogram_bucket(uint64_t value);
