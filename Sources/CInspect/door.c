#define _GNU_SOURCE
#include "door.h"

#include <errno.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

// How many may wait to be taken in.
enum { backlog = 16 };

static socklen_t name_door(struct sockaddr_un *address, pid_t process) {
  *address = (struct sockaddr_un){.sun_family = AF_UNIX};
  int length = snprintf(address->sun_path + 1, sizeof address->sun_path - 1, "rondo-inspect/%d", (int)process);
  return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length);
}

static int fail(int socket) {
  int error = errno;
  close(socket);
  return -error;
}

// Whether the other end is of this user, and, if a process is given, that process.
static int is_own(int socket, pid_t process) {
  struct ucred peer;
  socklen_t length = sizeof peer;
  if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &length)) return 0;
  return peer.uid == geteuid() && (!process || peer.pid == process);
}

int rondo_door_open(pid_t process) {
  struct sockaddr_un address;
  socklen_t length = name_door(&address, process);
  int door = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (door < 0) return -errno;
  if (bind(door, (struct sockaddr *)&address, length) || listen(door, backlog)) return fail(door);
  return door;
}

int rondo_door_accept(int door) {
  int guest = accept4(door, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (guest < 0) return -errno;
  if (is_own(guest, 0)) return guest;
  close(guest);
  return -EPERM;
}

int rondo_door_knock(pid_t process) {
  struct sockaddr_un address;
  socklen_t length = name_door(&address, process);
  int guest = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (guest < 0) return -errno;
  // A forked child may keep the door of a process that is gone, and nobody would answer.
  struct timeval patience = {.tv_sec = 75};
  setsockopt(guest, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  if (connect(guest, (struct sockaddr *)&address, length)) return fail(guest);
  if (is_own(guest, process)) return guest;
  close(guest);
  return -EPERM;
}

ssize_t rondo_door_send(int socket, const void *bytes, size_t length) {
  ssize_t count = send(socket, bytes, length, MSG_NOSIGNAL | MSG_DONTWAIT);
  return count < 0 ? -errno : count;
}

ssize_t rondo_door_receive(int socket, void *bytes, size_t length) {
  ssize_t count = recv(socket, bytes, length, MSG_DONTWAIT);
  return count < 0 ? -errno : count;
}
