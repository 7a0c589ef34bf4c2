// The peers written in C. None of their libraries' headers is visible from here.

#ifndef PEERS_H
#define PEERS_H

#include "bench.h"

/// Bare kernel calls: the limit that no loop can beat.
extern const bench_peer bench_peer_raw;

/// The limits of a precise timer: a thread that sleeps before all others, and one that never sleeps.
extern const bench_peer bench_peer_raw_fifo;
extern const bench_peer bench_peer_raw_spin;

/// libevent by itself.
extern const bench_peer bench_peer_libevent;

extern const bench_peer bench_peer_libuv;
extern const bench_peer bench_peer_libev;
extern const bench_peer bench_peer_glib;
extern const bench_peer bench_peer_sd_event;

#endif
