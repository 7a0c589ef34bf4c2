// Children by pidfd, and their beginning. Each call answers with zero or more, or with minus errno.
#pragma once

#include <stddef.h>
#include <stdint.h>

// A descriptor of a process, readable when it has ended: pidfd_open(2). Closed on exec.
int rondo_pidfd_open(int process);
// Signals the process itself, never one that has its number by now: pidfd_send_signal(2).
int rondo_pidfd_signal(int descriptor, int signal);
// Signals the processes of the group that the child of that number leads, or led.
int rondo_group_signal(int descriptor, int process, int signal);

// How a child ended, and what it took: waitid(2), getrusage(2). Times in microseconds, memory in KiB.
struct rondo_child_end {
  int was_killed;  // 0: `status` is the exit code; 1: it is a signal; 2: and memory was dumped.
  int status;
  int64_t user_time, system_time;
  int64_t peak_memory;
  int64_t minor_faults, major_faults;
  int64_t voluntary_switches, involuntary_switches;
};

// Looks whether the child has ended, and with `reaps` lets go of it: 1, or 0 while it lives.
int rondo_child_look(int descriptor, int reaps, struct rondo_child_end *end);

// What is to be started. posix_spawn(3).
struct rondo_command {
  const char *executable;  // Looked for in PATH if it has no slash.
  char *const *arguments;
  char *const *environment;  // NULL: this process's, without what was meant for it alone.
  const char *directory;     // NULL: this process's.
  int streams[3];            // -1: this process's, or /dev/null if that is closed; -2: /dev/null.
  int leads_group;
};

// A file in memory with these bytes, to be read from the first one: memfd_create(2). Closed on exec.
int rondo_bytes_file(const void *bytes, size_t count);

// Starts a child with no signal blocked, nor ignored but for those of nohup(1) and shells: its process number. -EMFILE as well if there is no descriptor to watch
// it with; -ENOTDIR without the directory, -ENOENT without the program, -ELIBACC without what the program needs to be
// executed, its interpreter or its loader.
int rondo_spawn(const struct rondo_command *command);

// Kills a child that no loop can watch, and has it reaped.
void rondo_abandon(int process);
