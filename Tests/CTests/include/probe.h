// Counts of the heap, walks of the stack, and a host in C.
#pragma once
#include <stdint.h>

// Allocations of the calling thread so far; -1 where a sanitizer owns the allocator.
int64_t allocation_count(void);

// Bytes that the process has allocated and not freed: mallinfo2(3).
int64_t bytes_in_use(void);

// Has the allocator give back what it does not need: malloc_trim(3).
void trim_allocator(void);

// While enabled, an allocation of the calling thread aborts the process, so that a debugger shows where it was.
void allocation_trap(int enabled);

// The calling stack's return addresses as offsets into the executable, innermost first; 0 for a frame of a library.
int stack_offsets(uint64_t *offsets, int capacity);

// What a host calls: a guest's turn, when the guest's descriptor is readable, and the tick of a timer of its own every
// 10 ms. The host is over once a turn answers other than 0, and ticks no longer once a tick does.
typedef int (*host_turn)(void *context);

// A raw epoll loop on the calling thread. 0.
int host_epoll(int descriptor, host_turn turn, host_turn tick, void *context);
