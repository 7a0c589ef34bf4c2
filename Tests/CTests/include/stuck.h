// Functions that do not come back soon, compiled without frame pointers.
#pragma once

#include <stdint.h>

// Computes until the word is not zero.
void stuck_compute(const uint32_t *word);
// Ends that, from another thread.
void stuck_end(uint32_t *word);
// Calls `body` from the middle of a computation that has a use for every register.
void stuck_call(void (*body)(void *), void *context);
