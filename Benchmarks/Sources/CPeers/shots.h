// Timers that fire once, as every peer in C keeps them: a pointer for each, to cancel it by.

#ifndef SHOTS_H
#define SHOTS_H

#include <stdlib.h>

typedef struct {
  void *loop;
  size_t count;
  void *timers[];
} shots;

static inline void *shot_memory(size_t size) {
  void *memory = malloc(size);
  if (memory == NULL) abort();
  return memory;
}

static inline shots *make_shots(void *loop, size_t count) {
  shots *bank = shot_memory(sizeof *bank + count * sizeof bank->timers[0]);
  bank->loop = loop;
  bank->count = count;
  return bank;
}

#endif
