#define RONDO_CF_IMPLEMENTATION 1
#include "rondo/CFRunLoop.h"

// Seconds since 1 January 2001, by the wall clock.
CFAbsoluteTime rondo_cf_absolute_time(void);

// How many references there are to an object.
CFIndex rondo_cf_retain_count(const void *object);

// Calls a block that takes nothing, an object, or an object and an activity.
void rondo_cf_call(void *block);
void rondo_cf_call_timer(void *block, void *timer);
void rondo_cf_call_observer(void *block, void *observer, CFRunLoopActivity activity);
void *rondo_cf_block_copy(const void *block);
void rondo_cf_block_release(const void *block);

// Whether it carries bytes, which have an end, and no datagrams.
int rondo_cf_is_stream(int descriptor);
// Whether a stream has nothing more to read.
int rondo_cf_is_at_end(int descriptor);
// How many bytes came in; 0 at the end, or for an empty datagram; minus errno.
ssize_t rondo_cf_receive(int descriptor, void *bytes, size_t count);
// A connection that came in, closed on exec; negative if there is none. Waits unless the listener is non-blocking.
int rondo_cf_accept(int descriptor);
