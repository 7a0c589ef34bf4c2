// Threads of the process, by their numbers in the kernel.
#pragma once

#include <stdbool.h>

// Whether the thread sleeps; not if it has ended.
bool threads_sleeps(long thread);
// Whether every other thread sleeps: awake, one may hold a lock of the Swift runtime's, which a forked child would find
// held for ever.
bool threads_others_sleep(void);
