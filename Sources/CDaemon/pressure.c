#define _GNU_SOURCE

#include "pressure.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <unistd.h>

int rondo_pressure_open(const char *path, enum rondo_pressure_kind *kind) {
  // A pipe that is open for writing as well has no end when its writers have gone.
  int file = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
  if (file < 0) return -errno;
  struct stat status;
  if (fstat(file, &status)) {
    int error = errno;
    close(file);
    return -error;
  }
  *kind = S_ISREG(status.st_mode)    ? RONDO_PRESSURE_KERNEL
          : S_ISFIFO(status.st_mode) ? RONDO_PRESSURE_PIPE
                                     : RONDO_PRESSURE_OTHER;
  return file;
}

int rondo_pressure_arm(int file, const void *trigger, size_t length) {
  ssize_t written = write(file, trigger, length);
  if (written < 0) return -errno;
  return (size_t)written == length ? 0 : -EIO;
}

int rondo_pressure_set(int file) {
  int set = epoll_create1(EPOLL_CLOEXEC);
  if (set < 0) return -errno;
  struct epoll_event event = {.events = EPOLLPRI};
  if (epoll_ctl(set, EPOLL_CTL_ADD, file, &event)) {
    int error = errno;
    close(set);
    return -error;
  }
  return set;
}

int rondo_pressure_take(int set) {
  struct epoll_event event;
  // Nothing, as a rule: whoever asked whether the set is readable has taken it.
  return epoll_wait(set, &event, 1, 0) == 1 && event.events & (EPOLLERR | EPOLLHUP);
}

long rondo_pressure_text(int file, char *room, size_t length) {
  ssize_t count = pread(file, room, length, 0);
  return count < 0 ? -errno : count;
}
