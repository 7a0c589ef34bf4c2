// Three threads hand their results to the loop of a fourth, which stops when it has them all. No lock: what is posted is
// called on one thread.
//
//   cc workers.c $(pkg-config --cflags --libs rondo) -pthread -o workers && ./workers
//
// It prints:
//
//   1 + ... + 1000 = 500500, from 3 threads
//   every result freed

#include <pthread.h>
#include <rondo.h>
#include <stdio.h>
#include <stdlib.h>

enum { WORKERS = 3, LAST = 1000 };

// Touched on the loop's thread only.
static rondo_loop *loop;
static int results, freed;
static long sum;

static void keep(rondo_source *source, void *context) {
  (void)source, (void)context;
}

static void take(void *result) {
  sum += *(long *)result;
  results += 1;
  if (results == LAST) rondo_loop_stop(loop);
}

static void done(void *result) {
  free(result);
  freed += 1;
}

static void *work(void *first) {
  for (long number = (long)(size_t)first; number <= LAST; number += WORKERS) {
    long *result = malloc(sizeof *result);
    if (result == NULL) abort();
    *result = number;
    // Refused only when the loop's thread is gone; then the result would still be this thread's.
    if (rondo_loop_post(loop, NULL, 0, take, result, done) < 0) free(result);
  }
  return NULL;
}

int main(void) {
  pthread_t workers[WORKERS];
  rondo_source *keeper;
  int error = rondo_loop_current(&loop);
  if (error < 0) {
    fprintf(stderr, "no loop: %s\n", rondo_error_text(error));
    return 1;
  }
  // A run ends when nothing is left in its mode; this keeps it until it is stopped.
  if (rondo_source_new(&keeper, 0, keep, NULL, NULL, NULL, NULL) < 0) return 1;
  rondo_loop_add(loop, keeper, NULL);
  for (size_t index = 0; index < WORKERS; index++) pthread_create(&workers[index], NULL, work, (void *)(index + 1));
  rondo_loop_run(loop, NULL, RONDO_FOREVER, 0);
  for (int index = 0; index < WORKERS; index++) pthread_join(workers[index], NULL);
  printf("1 + ... + %d = %ld, from %d threads\n", LAST, sum, WORKERS);
  printf("%s\n", freed == LAST ? "every result freed" : "something leaks");
  rondo_item_invalidate(keeper);
  rondo_release(keeper);
  return 0;
}
