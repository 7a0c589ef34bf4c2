// Subscribers of a signal: eventfds that a signal handler adds to. Each call returns minus errno for an error.
#pragma once

#include <stdint.h>

// Has each delivery of a signal add one to an eventfd, until unsubscribed.
//
// The first subscription of a signal takes the place of its disposition. Any thread; not from a signal handler.
// - Returns: The subscription's number, never used again in this process or a child of it.
int64_t rondo_signal_subscribe(int signal, int eventfd);

// Ends a subscription: no handler touches the eventfd any more. The last one puts the signal's disposition back, unless
// other code has installed its own handler since. In a forked child, its parent's numbers mean nothing.
void rondo_signal_unsubscribe(int signal, int64_t number);

// Has what comes from a date of CLOCK_MONOTONIC on, in nanoseconds, act as it would without the subscription.
void rondo_signal_end(int signal, int64_t number, int64_t date);

// Where the last delivery came from.
struct rondo_signal_origin {
  uint64_t sender;  // process << 32 | user; 0 for the kernel, or if the sender could have said anything.
  int64_t date;     // When it came: CLOCK_MONOTONIC in nanoseconds.
};
struct rondo_signal_origin rondo_signal_last(int signal, int64_t number);

// Whether the signal is ignored, or would be without its subscriptions.
int rondo_signal_is_ignored(int signal);

// Ignores a signal from now on, or from when its last subscription ends.
int rondo_signal_ignore(int signal);

// Has a signal come to the calling thread, should its maker have blocked it.
void rondo_signal_unblock(int signal);

// The first and the last real-time signal that the C library leaves to programs: signal(7).
int rondo_first_real_time_signal(void);
int rondo_last_real_time_signal(void);
