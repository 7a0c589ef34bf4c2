// What the tests share.
#pragma once

#include "stranger.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <rondo.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TEXT_OF(line) #line
#define LINE_TEXT(line) TEXT_OF(line)
// The enclosing function answers what is not so.
#define CHECK(condition) \
  do { \
    if (!(condition)) return __FILE__ ":" LINE_TEXT(__LINE__) ": " #condition; \
  } while (0)
// The same for a call that has to succeed, and for one that has to answer an error.
#define DO(call) CHECK((call) >= 0)
#define FAILS(error, call) CHECK((call) == (error))

#define ENDED {NULL, NULL}

// Counts calls.
static inline void count_up(void *counter) {
  atomic_fetch_add((atomic_int *)counter, 1);
}

// Starts a thread that has to start.
static inline pthread_t begin_thread(void *(*body)(void *), void *argument) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, body, argument) != 0) abort();
  return thread;
}
