// What the socket layer asks of the kernel. Each call answers with a result of zero or more, or with minus errno.
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/file.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "simulated.h"

static inline long rondo_or_errno(long result) { return result < 0 ? -errno : result; }

static inline int rondo_socket(int family, int type, int protocol) {
  long simulated = rondo_simulate(RONDO_SOCKET, -1, family, type, 0, 0);
  if (simulated != -ENOSYS) return (int)simulated;
  return (int)rondo_or_errno(socket(family, type | SOCK_NONBLOCK | SOCK_CLOEXEC, protocol));
}
// socket(2) as the C library has it, for a program in which that name is another function's.
static inline int rondo_socket_of_kernel(int family, int type, int protocol) {
  return (int)syscall(SYS_socket, family, type, protocol);
}
static inline int rondo_socket_pair(int type, int *ends) {
  long simulated = rondo_simulate(RONDO_SOCKET_PAIR, -1, type, (long)ends, 0, 0);
  if (simulated != -ENOSYS) return (int)simulated;
  return (int)rondo_or_errno(socketpair(AF_UNIX, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends));
}
static inline int rondo_bind(int descriptor, const void *address, uint32_t length) {
  if (rondo_is_simulated(descriptor)) return (int)rondo_simulate(RONDO_BIND, descriptor, (long)address, length, 0, 0);
  return (int)rondo_or_errno(bind(descriptor, (const struct sockaddr *)address, length));
}
static inline int rondo_listen(int descriptor, int backlog) {
  if (rondo_is_simulated(descriptor)) return (int)rondo_simulate(RONDO_LISTEN, descriptor, backlog, 0, 0, 0);
  return (int)rondo_or_errno(listen(descriptor, backlog));
}

// A connect(2) that a signal interrupts goes on by itself.
static inline int rondo_connect(int descriptor, const void *address, uint32_t length) {
  if (rondo_is_simulated(descriptor)) return (int)rondo_simulate(RONDO_CONNECT, descriptor, (long)address, length, 0, 0);
  if (connect(descriptor, (const struct sockaddr *)address, length) == 0) return 0;
  return errno == EINTR ? -EINPROGRESS : -errno;
}

// accept4(2), which <sys/socket.h> shows only to _GNU_SOURCE.
static inline int rondo_accept(int descriptor, void *address, uint32_t *length) {
  if (rondo_is_simulated(descriptor)) return (int)rondo_simulate(RONDO_ACCEPT, descriptor, (long)address, (long)length, 0, 0);
  long result;
  do {
    result = syscall(SYS_accept4, descriptor, address, length, SOCK_NONBLOCK | SOCK_CLOEXEC);
  } while (result < 0 && errno == EINTR);
  return (int)rondo_or_errno(result);
}

// Never raises SIGPIPE.
static inline long rondo_send(
    int descriptor, const void *bytes, size_t count, const void *address, uint32_t length) {
  if (rondo_is_simulated(descriptor)) return rondo_simulate(RONDO_SEND, descriptor, (long)bytes, (long)count, (long)address, length);
  long result;
  do {
    result = sendto(
        descriptor, bytes, count, MSG_NOSIGNAL | MSG_DONTWAIT, (const struct sockaddr *)address, length);
  } while (result < 0 && errno == EINTR);
  return rondo_or_errno(result);
}

// One byte of a stream as urgent data: a mark, at which the peer's receives stop. Tests make boundaries by it.
static inline long rondo_send_urgent(int descriptor, char byte) {
  if (rondo_is_simulated(descriptor)) return rondo_simulate(RONDO_SEND_URGENT, descriptor, byte, 0, 0, 0);
  return rondo_or_errno(send(descriptor, &byte, 1, MSG_OOB | MSG_NOSIGNAL | MSG_DONTWAIT));
}

// At most `count` bytes of a stream.
static inline long rondo_receive(int descriptor, void *bytes, size_t count) {
  if (rondo_is_simulated(descriptor))
    return rondo_simulate(RONDO_RECEIVE, descriptor, (long)bytes, (long)count, 0, 0);
  long result;
  do {
    result = recv(descriptor, bytes, count, MSG_DONTWAIT);
  } while (result < 0 && errno == EINTR);
  return rondo_or_errno(result);
}

static inline long rondo_read(int descriptor, void *bytes, size_t count) {
  if (rondo_is_simulated(descriptor))
    return rondo_simulate(RONDO_RECEIVE, descriptor, (long)bytes, (long)count, 0, 0);
  long result;
  do {
    result = read(descriptor, bytes, count);
  } while (result < 0 && errno == EINTR);
  return rondo_or_errno(result);
}

// At most 64 KiB of a stream, told where they lie until `took` returns: on the stack, without an allocation. What is no
// socket is read from, and has O_NONBLOCK.
static inline long rondo_receive_into(
    int descriptor, int is_socket, size_t count, void (*took)(void *context, const void *bytes, size_t count),
    void *context) {
  char room[65536];
  if (count > sizeof room) count = sizeof room;
  long result = is_socket ? rondo_receive(descriptor, room, count) : rondo_read(descriptor, room, count);
  if (result > 0) took(context, room, (size_t)result);
  return result;
}

// A datagram in the room that it was received into.
struct rondo_datagram {
  const void *bytes;
  size_t count;   // what the room has of it
  size_t length;  // what was sent
  const void *sender;
  uint32_t sender_length;
};

// Receives one datagram, told where it lies until `took` returns. Without a `room` that is 64 KiB of the stack, more than
// a datagram of the internet has.
static inline long rondo_receive_datagram(
    int descriptor, void *room, size_t count, void (*took)(void *context, const struct rondo_datagram *datagram),
    void *context) {
  char stack[65536], sender[128];
  if (!room) room = stack, count = sizeof stack;
  uint32_t sender_length = sizeof sender;
  long result;
  if (rondo_is_simulated(descriptor)) {
    result = rondo_simulate(
        RONDO_RECEIVE_DATAGRAM, descriptor, (long)room, (long)count, (long)sender, (long)&sender_length);
  } else {
    do {
      // MSG_TRUNC: the result is the whole length, also where the room had less.
      result = rondo_or_errno(recvfrom(
          descriptor, room, count, MSG_DONTWAIT | MSG_TRUNC, (struct sockaddr *)sender, &sender_length));
    } while (result == -EINTR);
  }
  if (result < 0) return result;
  size_t length = (size_t)result;
  if (sender_length > sizeof sender) sender_length = sizeof sender;
  struct rondo_datagram datagram = {room, length < count ? length : count, length, sender, sender_length};
  took(context, &datagram);
  return result;
}

// How many datagrams the kernel has dropped that were for the socket, the count of SO_RXQ_OVFL; or minus errno. Linux
// 4.12 tells it when it is asked: SO_MEMINFO, whose last word it is.
static inline long rondo_dropped_count(int descriptor) {
  if (rondo_is_simulated(descriptor)) return rondo_simulate(RONDO_OPTION, descriptor, SOL_SOCKET, SO_MEMINFO, 0, 0);
  uint32_t words[9];
  socklen_t length = sizeof words;
  if (getsockopt(descriptor, SOL_SOCKET, SO_MEMINFO, words, &length) != 0) return -errno;
  return length < sizeof words ? -ENOPROTOOPT : (long)words[8];
}

// Several pieces in one call. Never raises SIGPIPE.
static inline long rondo_send_pieces(int descriptor, const struct iovec *pieces, size_t count) {
  if (rondo_is_simulated(descriptor)) return rondo_simulate(RONDO_SEND_PIECES, descriptor, (long)pieces, (long)count, 0, 0);
  struct msghdr message = {.msg_iov = (struct iovec *)pieces, .msg_iovlen = count};
  long result;
  do {
    result = sendmsg(descriptor, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
  } while (result < 0 && errno == EINTR);
  return rondo_or_errno(result);
}

// write(2), or sendfile(2) out of `file`, to a stream that has no flag against SIGPIPE: the thread blocks the signal
// during the call, and takes back the one that the call has raised.
static inline long rondo_write_quietly(int descriptor, const void *bytes, int file, off_t *offset, size_t count) {
  if (rondo_is_simulated(descriptor))
    return rondo_simulate(RONDO_SEND_FILE, descriptor, file, (long)offset, (long)count, 0);
  sigset_t pipe, old, pending;
  sigemptyset(&pipe);
  sigaddset(&pipe, SIGPIPE);
  sigpending(&pending);
  pthread_sigmask(SIG_BLOCK, &pipe, &old);
  long result;
  do {
    result = bytes ? write(descriptor, bytes, count) : sendfile(descriptor, file, offset, count);
  } while (result < 0 && errno == EINTR);
  result = rondo_or_errno(result);
  if (result == -EPIPE && !sigismember(&pending, SIGPIPE)) {
    struct timespec now = {0, 0};
    while (sigtimedwait(&pipe, NULL, &now) < 0 && errno == EINTR) {}
  }
  pthread_sigmask(SIG_SETMASK, &old, NULL);
  return result;
}

static inline int rondo_shutdown(int descriptor, int how) {
  if (rondo_is_simulated(descriptor)) return (int)rondo_simulate(RONDO_SHUTDOWN, descriptor, how, 0, 0, 0);
  return (int)rondo_or_errno(shutdown(descriptor, how));
}

static inline int rondo_socket_name(int descriptor, void *address, uint32_t *length) {
  if (rondo_is_simulated(descriptor)) return (int)rondo_simulate(RONDO_NAME, descriptor, (long)address, (long)length, 0, 0);
  return (int)rondo_or_errno(getsockname(descriptor, (struct sockaddr *)address, length));
}
static inline int rondo_socket_peer_name(int descriptor, void *address, uint32_t *length) {
  if (rondo_is_simulated(descriptor)) return (int)rondo_simulate(RONDO_PEER_NAME, descriptor, (long)address, (long)length, 0, 0);
  return (int)rondo_or_errno(getpeername(descriptor, (struct sockaddr *)address, length));
}

static inline int rondo_socket_option(int descriptor, int level, int option) {
  if (rondo_is_simulated(descriptor)) return (int)rondo_simulate(RONDO_OPTION, descriptor, level, option, 0, 0);
  int value = 0;
  socklen_t length = sizeof value;
  if (getsockopt(descriptor, level, option, &value, &length) != 0) return -errno;
  return value;
}
static inline int rondo_set_socket_option(int descriptor, int level, int option, int value) {
  if (rondo_is_simulated(descriptor)) return (int)rondo_simulate(RONDO_SET_OPTION, descriptor, level, option, value, 0);
  return (int)rondo_or_errno(setsockopt(descriptor, level, option, &value, sizeof value));
}

static inline int rondo_set_nonblocking(int descriptor) {
  if (rondo_is_simulated(descriptor)) return 0;
  int flags = fcntl(descriptor, F_GETFL);
  if (flags < 0) return -errno;
  return (int)rondo_or_errno(fcntl(descriptor, F_SETFL, flags | O_NONBLOCK));
}

static inline int rondo_close_on_exec(int descriptor) {
  if (rondo_is_simulated(descriptor)) return 0;
  int flags = fcntl(descriptor, F_GETFD);
  if (flags < 0 || flags & FD_CLOEXEC) return flags < 0 ? -errno : 0;
  return (int)rondo_or_errno(fcntl(descriptor, F_SETFD, flags | FD_CLOEXEC));
}

// SO_PEERCRED, unix(7): the process that made the other end. Laid out as struct ucred, which needs _GNU_SOURCE.
struct rondo_credentials {
  int32_t process;
  uint32_t user;
  uint32_t group;
};
static inline int rondo_peer_credentials(int descriptor, struct rondo_credentials *credentials) {
  if (rondo_is_simulated(descriptor)) return (int)rondo_simulate(RONDO_CREDENTIALS, descriptor, (long)credentials, 0, 0, 0);
  socklen_t length = sizeof *credentials;
  return (int)rondo_or_errno(getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, credentials, &length));
}

// Waits for a descriptor, or for another one to be readable (-1 for none); a signal ends the wait early.
// -1 milliseconds waits without limit.
static inline int rondo_poll_two(int descriptor, int events, int other, int milliseconds) {
  if (rondo_is_simulated(descriptor)) return (int)rondo_simulate(RONDO_POLL, descriptor, events, milliseconds, 0, 0);
  struct pollfd queries[2] = {{descriptor, (short)events, 0}, {other, POLLIN, 0}};
  int result = poll(queries, 2, milliseconds);
  if (result < 0) return errno == EINTR ? 0 : -errno;
  return result;
}

// pipe2(2), which <unistd.h> shows only to _GNU_SOURCE; closed on exec.
static inline int rondo_pipe(int *ends) { return (int)rondo_or_errno(syscall(SYS_pipe2, ends, O_CLOEXEC)); }
