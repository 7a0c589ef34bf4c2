// What a socket's source asks the kernel, never waiting.
#include "CRondoCFPointers.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>

int rondo_cf_is_at_end(int descriptor) {
  char byte;
  return recv(descriptor, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
}

ssize_t rondo_cf_receive(int descriptor, void *bytes, size_t count) {
  ssize_t received = recv(descriptor, bytes, count, MSG_DONTWAIT);
  if (received < 0 && (errno == EAGAIN || errno == EINTR)) return -1;
  return received < 0 ? 0 : received;
}

int rondo_cf_accept(int descriptor) {
  int accepted = accept(descriptor, NULL, NULL);
  if (accepted >= 0) fcntl(accepted, F_SETFD, FD_CLOEXEC);
  return accepted;
}
