#define _GNU_SOURCE
#include "door.h"

#include "../CLinux/directories.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

// How many may wait to be taken in.
enum { backlog = 16 };

static int fail(int descriptor) {
  int error = errno;
  close(descriptor);
  return -error;
}

// MARK: - Directories

// The places that may have the directory, the best first.
enum { place_count = 4, path_limit = 4096 };

// 0 if there is no such place.
static int name_place(int number, uid_t user, char *path, size_t limit) {
  const char *runtime = rondo_environment("XDG_RUNTIME_DIR");
  int length = 0;
  switch (number) {
  case 0: length = runtime && runtime[0] == '/' ? snprintf(path, limit, "%s", runtime) : 0; break;
  case 1: length = snprintf(path, limit, "/run/user/%u", (unsigned)user); break;
  case 2: length = user == 0 ? snprintf(path, limit, "/run") : 0; break;
  default: length = snprintf(path, limit, "/tmp");
  }
  if (length <= 0 || (size_t)length >= limit) return 0;
  length += snprintf(path + length, limit - (size_t)length, "/rondo-inspect-%u", (unsigned)user);
  return (size_t)length < limit;
}

// Makes a directory of mode 0700, whatever the umask leaves of that. 0 if it was there.
static int make_private(int base, const char *name) {
  if (mkdirat(base, name, 0700) == 0) return fchmodat(base, name, 0700, 0);
  return errno == EEXIST ? 0 : -1;
}

// Opens the directory at a path of name_place. It is used only if it is this user's alone, and the directory that it is
// in lets no other user put another one there. Links are not followed from there on.
static int open_private(char *path, uid_t user, int makes) {
  char *slash = strrchr(path, '/');
  *slash = 0;
  int base = rondo_open_safe(path, user, 1);
  *slash = '/';
  if (base < 0) return base;
  if (makes && make_private(base, slash + 1)) return fail(base);
  int directory = openat(base, slash + 1, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (directory < 0) return fail(base);
  close(base);
  struct stat status;
  if (fstat(directory, &status)) return fail(directory);
  if (status.st_uid == user && !(status.st_mode & 077)) return directory;
  errno = EPERM;
  return fail(directory);
}

// Through its descriptor the directory is the one that was looked at, and a long path finds room.
static int name_socket(struct sockaddr_un *address, int directory, const char *name) {
  *address = (struct sockaddr_un){.sun_family = AF_UNIX};
  int length = snprintf(address->sun_path, sizeof address->sun_path, "/proc/self/fd/%d/%s", directory, name);
  return length > 0 && (size_t)length < sizeof address->sun_path;
}

// MARK: - Doors of others

// Never waits for longer than some seconds: the other one may be stopped.
static int connect_at(int directory, const char *name) {
  struct sockaddr_un address;
  if (!name_socket(&address, directory, name)) return -ENAMETOOLONG;
  int guest = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (guest < 0) return -errno;
  struct timeval patience = {.tv_sec = 5};
  setsockopt(guest, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  if (connect(guest, (struct sockaddr *)&address, sizeof address)) return fail(guest);
  return guest;
}

// The process whose door it is: "4711.0123456789abcdef"; 0 for anything else.
static pid_t door_process(const char *name) {
  char *end;
  long process = name[0] >= '1' && name[0] <= '9' ? strtol(name, &end, 10) : 0;
  return process > 0 && process < 0x7fffffff && *end == '.' ? (pid_t)process : 0;
}

// Whether its process is gone, and the file with it now. No name is ever given twice, and a socket has its name only
// once it listens: one that refuses once always will.
static int is_swept(int directory, const char *name, pid_t process) {
  if (kill(process, 0) == 0 || errno != ESRCH) return 0;
  int guest = connect_at(directory, name);
  if (guest >= 0) close(guest);
  if (guest != -ECONNREFUSED) return 0;
  unlinkat(directory, name, 0);
  return 1;
}

// Takes the descriptor.
static DIR *read_directory(int directory) {
  DIR *stream = fdopendir(directory);
  if (!stream) close(directory);
  return stream;
}

size_t rondo_door_list(pid_t *processes, size_t limit) {
  uid_t user = geteuid();
  char path[path_limit];
  size_t count = 0;
  for (int number = 0; number < place_count; number++) {
    if (!name_place(number, user, path, sizeof path)) continue;
    int directory = open_private(path, user, 0);
    DIR *stream = directory < 0 ? NULL : read_directory(directory);
    if (!stream) continue;
    for (struct dirent *entry; (entry = readdir(stream));) {
      pid_t process = door_process(entry->d_name);
      if (!process || is_swept(dirfd(stream), entry->d_name, process)) continue;
      if (count < limit) processes[count++] = process;
    }
    closedir(stream);
  }
  return count;
}

static int is_peer(int socket, uid_t user, pid_t process) {
  struct ucred peer;
  socklen_t length = sizeof peer;
  if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &length)) return 0;
  return peer.uid == user && (!process || peer.pid == process);
}

// The first door of a process in a directory that accepts the connection.
static int knock_in(DIR *stream, uid_t user, pid_t process) {
  int result = -ENOENT;
  for (struct dirent *entry; (entry = readdir(stream));) {
    if (door_process(entry->d_name) != process) continue;
    int guest = connect_at(dirfd(stream), entry->d_name);
    if (guest >= 0 && is_peer(guest, user, process)) return guest;
    if (guest >= 0) close(guest);
    result = guest >= 0 ? -EPERM : guest;
    if (guest == -ECONNREFUSED) unlinkat(dirfd(stream), entry->d_name, 0);
  }
  return result;
}

int rondo_door_knock(pid_t process) {
  uid_t user = geteuid();
  char path[path_limit];
  int result = -ENOENT;
  for (int number = 0; number < place_count; number++) {
    if (!name_place(number, user, path, sizeof path)) continue;
    int directory = open_private(path, user, 0);
    DIR *stream = directory < 0 ? NULL : read_directory(directory);
    if (!stream) continue;
    int guest = knock_in(stream, user, process);
    closedir(stream);
    if (guest >= 0) return guest;
    if (guest != -ENOENT) result = guest;
  }
  // The process's user finds it elsewhere.
  struct stat status;
  snprintf(path, sizeof path, "/proc/%d", (int)process);
  if (result == -ENOENT && stat(path, &status) == 0 && status.st_uid != user) return -EPERM;
  return result;
}

// MARK: - The own door

// Removes the files of processes that ended without a word. Takes the descriptor.
static void sweep(int directory) {
  DIR *stream = directory < 0 ? NULL : read_directory(directory);
  if (!stream) return;
  for (struct dirent *entry; (entry = readdir(stream));) {
    pid_t process = door_process(entry->d_name);
    if (process) is_swept(dirfd(stream), entry->d_name, process);
  }
  closedir(stream);
}

// No client sees the socket before it listens.
static int open_in(int directory, const char *name) {
  char hidden[64];
  snprintf(hidden, sizeof hidden, ".%s", name);
  struct sockaddr_un address;
  if (!name_socket(&address, directory, hidden)) return -ENAMETOOLONG;
  int door = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (door < 0) return -errno;
  // bind(2) makes the file with the mode of the socket, less the umask.
  if (fchmod(door, 0600) || bind(door, (struct sockaddr *)&address, sizeof address)) return fail(door);
  if (listen(door, backlog) == 0 && renameat(directory, hidden, directory, name) == 0) return door;
  int error = fail(door);
  unlinkat(directory, hidden, 0);
  return error;
}

int rondo_door_open(pid_t process, char *path, size_t limit) {
  uid_t user = geteuid();
  uint64_t number = 0;
  if (getrandom(&number, sizeof number, 0) != sizeof number) return -errno;
  char name[48];
  snprintf(name, sizeof name, "%d.%016llx", (int)process, (unsigned long long)number);
  int result = -ENOENT;
  for (int place = 0; place < place_count; place++) {
    if (!name_place(place, user, path, limit) || strlen(path) + 1 + strlen(name) >= limit) continue;
    int directory = open_private(path, user, 1);
    int door = directory < 0 ? directory : open_in(directory, name);
    if (door < 0) {
      if (directory >= 0) close(directory);
      // The first place that there is says best what is wrong.
      if (result == -ENOENT) result = door;
      continue;
    }
    sweep(directory);
    strcat(strcat(path, "/"), name);
    return door;
  }
  return result;
}

int rondo_door_accept(int door, uid_t user) {
  int guest = accept4(door, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (guest < 0) return -errno;
  if (is_peer(guest, user, 0)) return guest;
  close(guest);
  return -EPERM;
}

int rondo_door_is_left(int guest) {
  struct pollfd query = {.fd = guest};
  return poll(&query, 1, 0) == 1 && (query.revents & (POLLHUP | POLLERR));
}

int rondo_door_await(int socket, int milliseconds) {
  struct pollfd query = {.fd = socket, .events = POLLIN};
  int count = poll(&query, 1, milliseconds);
  return count < 0 ? -errno : count;
}

ssize_t rondo_door_send(int socket, const void *bytes, size_t length) {
  ssize_t count = send(socket, bytes, length, MSG_NOSIGNAL | MSG_DONTWAIT);
  return count < 0 ? -errno : count;
}

ssize_t rondo_door_receive(int socket, void *bytes, size_t length) {
  ssize_t count = recv(socket, bytes, length, MSG_DONTWAIT);
  return count < 0 ? -errno : count;
}
