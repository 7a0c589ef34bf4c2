#define _GNU_SOURCE
#include "threads.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// By its stat file, in which the state stands behind the name in parentheses: proc_pid_stat(5).
bool threads_sleeps(long thread) {
  char path[64], text[256];
  snprintf(path, sizeof path, "/proc/self/task/%ld/stat", thread);
  FILE *file = fopen(path, "r");
  if (!file) return false;
  text[fread(text, 1, sizeof text - 1, file)] = 0;
  fclose(file);
  char *name_end = strrchr(text, ')');
  return name_end && !strncmp(name_end, ") S", 3);
}

bool threads_others_sleep(void) {
  DIR *threads = opendir("/proc/self/task");
  bool all_sleep = threads;
  for (struct dirent *entry; all_sleep && (entry = readdir(threads));) {
    long thread = strtol(entry->d_name, NULL, 10);
    if (thread > 0 && thread != gettid()) all_sleep = threads_sleeps(thread);
  }
  if (threads) closedir(threads);
  return all_sleep;
}
