// Which processors threads run on: sched_setaffinity(2). Each call answers with minus errno for an error.
#pragma once

// The processors that the calling thread may run on, lowest first, at most `limit` of them: how many.
int rondo_allowed_processors(int *processors, int limit);

// Has the calling thread run on one processor only.
int rondo_pin_thread(int processor);
