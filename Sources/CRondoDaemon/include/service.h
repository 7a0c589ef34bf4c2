// What a service manager is given, and a process that takes this one's place. Each call answers with minus errno for an
// error.
#pragma once

#include <stddef.h>

// Sends a datagram with a descriptor over a connected Unix-domain socket, and does not wait: how many bytes it took.
int rondo_send_descriptor(int socket, const void *bytes, size_t count, int descriptor);

// A process that is to take this one's place.
struct rondo_successor {
  const char *executable;  // Looked for in PATH if it has no slash.
  char *const *arguments;
  const int *descriptors;  // They become 3 and those that follow, of which sd_listen_fds(3) tells.
  int count;
  const char *names;  // LISTEN_FDNAMES
  int line;           // Becomes the descriptor after those. RONDO_PREDECESSOR tells of it.
};

// Starts it with this process's environment and streams and no other descriptor, with no signal blocked, nor ignored but
// for those of nohup(1) and shells: its process number, and a pidfd, which closes on exec. If systemd has started this
// process, it is the successor's parent as well, and learns instead of this process how it ends.
int rondo_spawn_successor(const struct rondo_successor *successor, int *pidfd);
