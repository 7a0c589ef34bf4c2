// Libraries on libevent, as a loop of ours has them: a base, and callbacks.
#pragma once

struct event_base;
typedef void (*foreign_callback)(void *context);

// A timeout that calls once, in so many milliseconds; freed by its own callback, or by foreign_cancel.
struct call;
struct call *foreign_timeout(struct event_base *base, int milliseconds, foreign_callback call, void *context);

// Frees a timeout that has not called. Its context.
void *foreign_cancel(struct call *call);

// A reader of one byte at a time from a descriptor that does not block, until it is cancelled.
struct call *foreign_reader(struct event_base *base, int descriptor, foreign_callback call, void *context);

// Has libevent call once, without a timeout or a descriptor.
void foreign_soon(struct event_base *base, foreign_callback call, void *context);

// Two bufferevents that hand each other so many words, whose callbacks are deferred; then calls once.
void foreign_talk(struct event_base *base, int words, foreign_callback call, void *context);

// Asks libevent to go into the base once more. -1 if it refuses.
int foreign_enter(struct event_base *base);

// An HTTP server and a client of it, both on the base: one request, whose answer ends both. `call` is called with the
// status of the answer, 0 if there is none.
void foreign_http(struct event_base *base, void (*call)(void *context, int status), void *context);

// Asks a name server on 127.0.0.1 for the IPv4 address of a name, and again every 50 ms until it answers. `call` is
// called with the address in host order, 0 if there is none, when all is freed.
void foreign_resolve(struct event_base *base, int port, const char *name,
                     void (*call)(void *context, unsigned address), void *context);
