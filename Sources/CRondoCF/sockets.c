// What a socket's source asks the kernel, never waiting.
#define _GNU_SOURCE
#include "CRondoCFPointers.h"

#include <errno.h>
#include <sys/socket.h>

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

ssize_t rondo_cf_receive(int descriptor, void *bytes, size_t count) {
  ssize_t received = recv(descriptor, bytes, count, MSG_DONTWAIT);
  return received < 0 ? -errno : received;
}

int rondo_cf_accept(int descriptor) { return accept4(descriptor, NULL, NULL, SOCK_CLOEXEC); }
