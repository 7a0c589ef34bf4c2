// Runs other programs, and times one.

#define _GNU_SOURCE
#include "bench.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

pid_t bench_spawn(const char *program, const int *descriptors, int count) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  // A number that is its own already would stay closed on exec.
  for (int index = 0; index < count; index++) {
    posix_spawn_file_actions_adddup2(&actions, descriptors[index], 200 + index);
  }
  for (int index = 0; index < count; index++) {
    posix_spawn_file_actions_adddup2(&actions, 200 + index, 3 + index);
    posix_spawn_file_actions_addclose(&actions, 200 + index);
  }
  char *const arguments[] = {(char *)program, NULL};
  char *const environment[] = {NULL};
  pid_t child;
  int error = posix_spawn(&child, program, &actions, NULL, arguments, environment);
  posix_spawn_file_actions_destroy(&actions);
  return error == 0 ? child : -1;
}

int bench_start_program(const char *path, int64_t *nanoseconds) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return -1;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  char *const arguments[] = {(char *)path, NULL};
  char *const environment[] = {NULL};
  pid_t child;
  int64_t begin = bench_now();
  int error = posix_spawn(&child, path, &actions, NULL, arguments, environment);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  int64_t reached = 0;
  ssize_t length = error == 0 ? read(ends[0], &reached, sizeof reached) : 0;
  close(ends[0]);
  int status;
  if (error != 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status)) return -1;
  if (WEXITSTATUS(status) != 0) return WEXITSTATUS(status);
  if (length != sizeof reached) return -1;
  *nanoseconds = reached - begin;
  return 0;
}
