// What sockets and sources of version 1 ask the kernel. Only calls with a timeout wait.
#define _GNU_SOURCE
#include "CRondoCFPointers.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

int rondo_cf_is_stream(int descriptor) {
  int type = 0;
  socklen_t length = sizeof type;
  // What is no socket, such as a pipe, is a stream as well.
  return getsockopt(descriptor, SOL_SOCKET, SO_TYPE, &type, &length) || type == SOCK_STREAM;
}

int rondo_cf_is_at_end(int descriptor) {
  char byte;
  return recv(descriptor, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
}

ssize_t rondo_cf_receive(int descriptor, void *bytes, size_t count, void *address, size_t *size) {
  socklen_t room = (socklen_t)*size;
  ssize_t received = recvfrom(descriptor, bytes, count, MSG_DONTWAIT, address, &room);
  *size = received < 0 ? 0 : room;
  return received < 0 ? -errno : received;
}

int rondo_cf_accept(int descriptor, void *address, size_t *size) {
  socklen_t room = (socklen_t)*size;
  int accepted = accept4(descriptor, address, &room, SOCK_CLOEXEC);
  *size = accepted < 0 ? 0 : room;
  return accepted < 0 ? -errno : accepted;
}

int rondo_cf_address(int descriptor, int of_peer, void *address, size_t *size) {
  socklen_t room = (socklen_t)*size;
  int result = of_peer ? getpeername(descriptor, address, &room) : getsockname(descriptor, address, &room);
  *size = room;
  return result ? -errno : 0;
}

int rondo_cf_stage(int descriptor) {
  int value = 0;
  socklen_t length = sizeof value;
  if (!rondo_cf_is_stream(descriptor)) return RONDO_CF_OPEN;
  if (getsockopt(descriptor, SOL_SOCKET, SO_ACCEPTCONN, &value, &length) || value) return RONDO_CF_OPEN;
  struct sockaddr_storage peer;
  length = sizeof peer;
  if (!getpeername(descriptor, (struct sockaddr *)&peer, &length)) return RONDO_CF_OPEN;
  // A socket that connects has no event, one that failed to has an error, one that was connected has an end to read.
  struct pollfd poll_one = {descriptor, POLLIN | POLLOUT, 0};
  if (poll(&poll_one, 1, 0) < 0) return RONDO_CF_IDLE;
  if (poll_one.revents & POLLIN) return RONDO_CF_OPEN;
  return !poll_one.revents || poll_one.revents & POLLERR ? RONDO_CF_CONNECTING : RONDO_CF_IDLE;
}

int rondo_cf_error(int descriptor) {
  int error = 0;
  socklen_t length = sizeof error;
  return getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &error, &length) ? errno : error;
}

int rondo_cf_bind(int descriptor, const void *address, size_t size) {
  if (bind(descriptor, address, (socklen_t)size)) return -errno;
  return rondo_cf_is_stream(descriptor) && listen(descriptor, 256) ? -errno : 0;
}

static int64_t milliseconds_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

// Waits for room, or for the end of connecting, until `deadline` in milliseconds; a negative one does not come. 0, or minus
// errno: -ETIMEDOUT.
static int wait_for_room(int descriptor, int64_t deadline) {
  for (;;) {
    int64_t left = deadline < 0 ? -1 : deadline - milliseconds_now();
    if (deadline >= 0 && left < 0) left = 0;
    struct pollfd poll_one = {descriptor, POLLOUT, 0};
    int found = poll(&poll_one, 1, left > 1000000 ? 1000000 : (int)left);
    if (found > 0) return 0;
    if (found < 0 && errno != EINTR) return -errno;
    if (deadline >= 0 && milliseconds_now() >= deadline) return -ETIMEDOUT;
  }
}

static int64_t deadline_after(double seconds) {
  // What is later than three years does not come. Rounded up, so that it is never early.
  return seconds < 1e8 ? milliseconds_now() + (int64_t)(seconds * 1000) + 2 : -1;
}

int rondo_cf_connect(int descriptor, const void *address, size_t size, double timeout) {
  int flags = fcntl(descriptor, F_GETFL);
  if (flags < 0 || fcntl(descriptor, F_SETFL, flags | O_NONBLOCK)) return -errno;
  if (!connect(descriptor, address, (socklen_t)size)) return 0;
  if (errno != EINPROGRESS || timeout < 0) return -errno;
  int result = wait_for_room(descriptor, deadline_after(timeout));
  return result ? result : -rondo_cf_error(descriptor);
}

int rondo_cf_send(
    int descriptor, const void *address, size_t size, const void *bytes, size_t count, double timeout) {
  int64_t deadline = timeout > 0 ? deadline_after(timeout) : -1;
  int waits = timeout > 0 || !(fcntl(descriptor, F_GETFL) & O_NONBLOCK);
  const char *left = bytes;
  do {
    ssize_t sent = sendto(descriptor, left, count, MSG_DONTWAIT | MSG_NOSIGNAL, address, (socklen_t)size);
    if (sent >= 0) {
      left += sent;
      count -= (size_t)sent;
    } else if (errno != EINTR) {
      if ((errno != EAGAIN && errno != EWOULDBLOCK) || !waits) return -errno;
      int result = wait_for_room(descriptor, deadline);
      if (result) return result;
    }
  } while (count);
  return 0;
}

void rondo_cf_read_counter(int descriptor) {
  struct stat about;
  // Eventfds and timerfds are files of no type, and so are others, which have no number of eight bytes to read.
  if (fstat(descriptor, &about) || about.st_mode & S_IFMT) return;
  struct pollfd poll_one = {descriptor, POLLIN, 0};
  uint64_t value;
  if (poll(&poll_one, 1, 0) > 0 && read(descriptor, &value, sizeof value) < 0) return;
}
