// The programs of the workload `echo`: each serves the listening socket that it finds at its start, on one loop, until it
// is killed.

#ifndef ECHO_H
#define ECHO_H

#include <errno.h>
#include <poll.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
  /// Listens already, and never blocks.
  echo_listener = 3,
  /// How much is read at a time.
  echo_room = 65536,
  /// The exit status of a program that was built without its library.
  echo_absent = 3
};

/// The next connection, which never blocks; negative if there is none.
static inline int echo_accept(void) {
  // The C library shows accept4(2) only to who defines _GNU_SOURCE before anything else.
  return (int)syscall(SYS_accept4, echo_listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
}

/// Sends back what has come. False when the peer has gone.
///
/// Each client has one request under way, which is smaller than the socket's buffer: what does not fit is waited for.
static inline int echo_serve(int connection, void *room) {
  ssize_t count = read(connection, room, echo_room);
  if (count < 0) return errno == EAGAIN;
  if (count == 0) return 0;
  for (ssize_t done = 0; done < count;) {
    ssize_t sent = send(connection, (char *)room + done, (size_t)(count - done), MSG_NOSIGNAL);
    if (sent < 0 && errno != EAGAIN) return 0;
    if (sent < 0) poll(&(struct pollfd){connection, POLLOUT, 0}, 1, -1);
    if (sent > 0) done += sent;
  }
  return 1;
}

#endif
