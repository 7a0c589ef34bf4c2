// Where a thread is: its registers, its stack and what the kernel says of it.
#pragma once

#include <execinfo.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

// The signal that stops a thread. Ignored by default, so that one which comes too late is harmless, and passed on by
// debuggers without a word.
enum { rondo_sample_signal = SIGURG };

struct rondo_registers {
  uint64_t pc;
  uint64_t sp;
  uint64_t fp;
  uint64_t lr;  // the return address of a leaf; 0 where the machine has no such register
};

// Stops a running thread of this process in a signal handler, for at most a fifth of a second, and tells its registers.
// One at a time. 0, or errno: ETIMEDOUT if it does not take the signal.
int rondo_stop_thread(pid_t thread, struct rondo_registers *registers);
// Lets the stopped thread go on.
void rondo_release_thread(void);

// Reads memory that may not be there. How many bytes could be read.
size_t rondo_read_memory(uint64_t address, void *buffer, size_t length);

// Reads a file from its beginning, at most `limit` bytes; how many, or minus errno.
ssize_t rondo_read_file(const char *path, void *buffer, size_t limit);

// What a system call is called; NULL if it is none of the usual ones. `is_descriptor` says that its first argument is one.
const char *rondo_call_name(long number, int *is_descriptor);

// Has the calling thread take no signals.
void rondo_block_signals(void);
