// Rondo by its C API, as a program in C has it: a variant of Rondo's subject, written like a peer.
#pragma once

#include "bench.h"

extern const bench_peer bench_peer_rondo_c;
