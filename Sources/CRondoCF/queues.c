// libdispatch, where the process has it: looked up when it is asked for, so that programs without queues need not link it.
#define _GNU_SOURCE
#include "CRondoCFPointers.h"

#include <dlfcn.h>
#include <signal.h>

int rondo_cf_dispatch(void *queue, void *context, void (*function)(void *context)) {
  void (*async)(void *, void *, void (*)(void *));
  *(void **)&async = dlsym(RTLD_DEFAULT, "dispatch_async_f");
  if (async) async(queue, context, function);
  return async != NULL;
}

static void call(const char *name, void *queue) {
  void (*function)(void *);
  *(void **)&function = dlsym(RTLD_DEFAULT, name);
  if (function) function(queue);
}

void rondo_cf_retain_queue(void *queue) { call("dispatch_retain", queue); }

void rondo_cf_release_queue(void *queue) { call("dispatch_release", queue); }

void rondo_cf_block_signals(void) {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, NULL);
}
