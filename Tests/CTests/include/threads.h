// The other threads of the process.
#pragma once

#include <stdbool.h>

// Whether every other thread sleeps: awake, one may hold a lock of the Swift runtime's, which a forked child would find
// held for ever.
bool threads_others_sleep(void);
