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
// How many bytes came in; 0 at the end, or for an empty datagram; minus errno. `*size` is the room for the sender's address,
// and then its length.
ssize_t rondo_cf_receive(int descriptor, void *bytes, size_t count, void *address, size_t *size);
// A connection that came in, closed on exec; minus errno if there is none. Waits unless the listener is non-blocking.
int rondo_cf_accept(int descriptor, void *address, size_t *size);
// The socket's address or its peer's; 0, or minus errno.
int rondo_cf_address(int descriptor, int of_peer, void *address, size_t *size);

// Whether a socket has events to tell, or has a connection to wait for, or neither yet.
enum { RONDO_CF_IDLE, RONDO_CF_CONNECTING, RONDO_CF_OPEN };
int rondo_cf_stage(int descriptor);
// Takes the error that the socket keeps, such as that of connecting.
int rondo_cf_error(int descriptor);
// Binds, and has a stream listen. 0, or minus errno.
int rondo_cf_bind(int descriptor, const void *address, size_t size);
// Makes it non-blocking and connects, waiting up to `timeout` seconds. 0, or minus errno: -EINPROGRESS with a negative
// timeout, -ETIMEDOUT.
int rondo_cf_connect(int descriptor, const void *address, size_t size, double timeout);
// Sends all of it. Waits up to `timeout` seconds, without limit for a blocking socket if that is 0 or less. 0, or minus errno.
int rondo_cf_send(int descriptor, const void *address, size_t size, const void *bytes, size_t count, double timeout);
// Reads the counter of an eventfd or a timerfd that is readable; leaves everything else alone.
void rondo_cf_read_counter(int descriptor);

// The allocator that is not NULL.
const void *rondo_cf_null_allocator(void);
// A string of bytes in UTF-8, of which wrong ones are replaced.
const void *rondo_cf_string(const char *bytes, size_t count);
// Has a dispatch queue call a function, and counts references to it. 0 if the process has no libdispatch.
int rondo_cf_dispatch(void *queue, void *context, void (*function)(void *context));
void rondo_cf_retain_queue(void *queue);
void rondo_cf_release_queue(void *queue);
// Has the calling thread take no signals.
void rondo_cf_block_signals(void);
