// What a stranger tries with the C API, from C: each test says NULL if all is well, and what is not otherwise.
#pragma once

#include <stddef.h>

typedef struct stranger_test {
  const char *name;
  const char *(*run)(void);
} stranger_test;

// The tests of each file.
extern const stranger_test stranger_arguments[];
extern const stranger_test stranger_lives[];
extern const stranger_test stranger_loops[];
extern const stranger_test stranger_threads[];
extern const stranger_test stranger_processes[];
extern const stranger_test stranger_races[];
extern const stranger_test stranger_stalls[];

// The test at an index of one of these lists; NULL after the last.
static inline const stranger_test *stranger_at(int list, size_t index) {
  const stranger_test *lists[] = {
    stranger_arguments, stranger_lives, stranger_loops, stranger_threads, stranger_processes,
    stranger_races, stranger_stalls,
  };
  return lists[list][index].name ? &lists[list][index] : NULL;
}

// Runs a test on a thread of its own, whose loop ends with it.
const char *stranger_run(const stranger_test *test);
