#include "support.h"

static void *run_test(void *opaque) {
  const stranger_test *test = opaque;
  return (void *)test->run();
}

const char *stranger_run(const stranger_test *test) {
  void *failure = NULL;
  if (pthread_join(begin_thread(run_test, (void *)test), &failure) != 0) return "no thread";
  return failure;
}
