// Random operations of several threads on the same loops and items. Nothing may crash, an answer is an error or it is
// not, and each context is destroyed once. STRANGER_SEED and STRANGER_ROUNDS say otherwise what and how many.

#include "support.h"

enum { LOOPS = 2, MEDDLERS = 2, SLOTS = 16, MODES = 70, ROUNDS = 20000 };

// A handle that any thread may take a reference of.
typedef struct slot {
  pthread_mutex_t lock;
  void *item;
} slot;

typedef struct arena {
  slot slots[SLOTS];
  rondo_loop *loops[LOOPS];
  atomic_int ready, over, done;
  atomic_int made, destroyed, wrong;
  uint64_t seed;
  int rounds, pipe[2];
} arena;

typedef struct meddler {
  arena *arena;
  int number;
  uint64_t state;
} meddler;

// SplitMix64.
static uint64_t next_number(uint64_t *state) {
  uint64_t mixed = *state += 0x9E3779B97F4A7C15;
  mixed = (mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9;
  mixed = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EB;
  return mixed ^ (mixed >> 31);
}

static unsigned below(meddler *meddler, unsigned limit) { return next_number(&meddler->state) % limit; }

static void on_destroy(void *context) { count_up(&((arena *)context)->destroyed); }

static void on_timer(rondo_timer *timer, const rondo_tick *tick, void *context) {
  (void)timer, (void)tick, (void)context;
  // So that other threads find it in its callout.
  sched_yield();
}

static void on_source(rondo_source *source, void *context) {
  (void)source, (void)context;
  sched_yield();
}

static void on_observer(rondo_observer *observer, unsigned activity, void *context) {
  (void)observer, (void)activity, (void)context;
  sched_yield();
}

static void on_descriptor(rondo_descriptor *source, int descriptor, unsigned readiness, void *context) {
  (void)source, (void)descriptor, (void)readiness, (void)context;
  sched_yield();
}

static void on_post(void *context) { (void)context; }

static void *make(meddler *meddler) {
  arena *arena = meddler->arena;
  void *item = NULL;
  int answer;
  switch (below(meddler, 6)) {
    case 0:
      answer = rondo_timer_new((rondo_timer **)&item, 0, 0, 0, on_timer, arena, on_destroy);
      break;
    case 1:
      answer = rondo_timer_new((rondo_timer **)&item, 0, 20000, 0, on_timer, arena, on_destroy);
      break;
    case 2:
      answer = rondo_source_new((rondo_source **)&item, 0, on_source, NULL, NULL, arena, on_destroy);
      break;
    case 3:
      answer = rondo_observer_new(
        (rondo_observer **)&item, RONDO_BEFORE_TIMERS, RONDO_ONCE, 0, on_observer, arena, on_destroy);
      break;
    case 4:
      answer = rondo_observer_new((rondo_observer **)&item, RONDO_BEFORE_TIMERS, 0, 0, on_observer, arena, on_destroy);
      break;
    default:
      answer = rondo_descriptor_new(
        (rondo_descriptor **)&item, arena->pipe[0], RONDO_READ, 0, 0, on_descriptor, arena, on_destroy);
  }
  if (answer < 0) return NULL;
  count_up(&arena->made);
  return item;
}

static void end(void *item) {
  rondo_item_invalidate(item);
  rondo_release(item);
}

// What is in a slot is another item from now on.
static void replace(meddler *meddler, slot *slot) {
  void *new = make(meddler);
  pthread_mutex_lock(&slot->lock);
  void *old = slot->item;
  slot->item = new;
  pthread_mutex_unlock(&slot->lock);
  if (!old) return;
  // In half of the cases the loops alone have it from here on.
  if (below(meddler, 2)) rondo_item_invalidate(old);
  rondo_release(old);
}

static const char *mode_name(meddler *meddler, char *buffer, size_t size) {
  switch (below(meddler, 8)) {
    case 0: snprintf(buffer, size, "mode %u", below(meddler, MODES)); return buffer;
    case 1: return RONDO_COMMON_MODES;
    default: return NULL;
  }
}

static void meddle(meddler *meddler) {
  arena *arena = meddler->arena;
  slot *slot = &arena->slots[below(meddler, SLOTS)];
  rondo_loop *loop = arena->loops[below(meddler, LOOPS)];
  char buffer[16];
  const char *mode = mode_name(meddler, buffer, sizeof buffer);
  pthread_mutex_lock(&slot->lock);
  void *item = slot->item;
  if (item && rondo_retain(item) < 0) count_up(&arena->wrong);
  pthread_mutex_unlock(&slot->lock);
  if (!item) return replace(meddler, slot);
  int answer = 0;
  switch (below(meddler, 12)) {
    case 0: case 1: case 2: answer = rondo_loop_add(loop, item, mode); break;
    case 3: case 4: answer = rondo_loop_remove(loop, item, mode); break;
    case 5: answer = rondo_item_invalidate(item); break;
    case 6: answer = rondo_timer_fire(item); break;
    case 7: answer = rondo_timer_set_date(item, rondo_now() + below(meddler, 100000)); break;
    case 8: answer = rondo_source_signal(item, 0); break;
    case 9:
      count_up(&arena->made);
      answer = rondo_loop_post(loop, mode, 0, on_post, arena, on_destroy);
      if (answer < 0) on_destroy(arena);
      break;
    case 10: answer = mode ? rondo_loop_add_common_mode(loop, mode) : rondo_loop_wake_up(loop); break;
    default: replace(meddler, slot);
  }
  if (answer == RONDO_ERROR_HANDLE || answer == RONDO_ERROR_RELEASED || answer == RONDO_ERROR_ENDED) {
    count_up(&arena->wrong);
  }
  rondo_release(item);
}

static void *meddle_often(void *opaque) {
  meddler *meddler = opaque;
  for (int round = 0; round < meddler->arena->rounds; round++) meddle(meddler);
  return NULL;
}

static void *run_until_over(void *opaque) {
  meddler *meddler = opaque;
  arena *arena = meddler->arena;
  rondo_loop *loop;
  if (rondo_loop_current(&loop) < 0 || rondo_retain(loop) < 0) return "no loop";
  arena->loops[meddler->number] = loop;
  count_up(&arena->ready);
  while (arena->ready < LOOPS) sched_yield();
  while (!arena->over) {
    // A loop's own thread meddles as well.
    for (int times = below(meddler, 20); times > 0; times--) meddle(meddler);
    rondo_loop_run(loop, NULL, below(meddler, 2) ? 0 : RONDO_MILLISECOND / 10, 0);
  }
  // None ends while another thread uses it.
  count_up(&arena->done);
  while (arena->done < LOOPS) sched_yield();
  return NULL;
}

static uint64_t asked(const char *name, uint64_t otherwise) {
  const char *text = getenv(name);
  return text ? strtoull(text, NULL, 10) : otherwise;
}

static const char *random_operations(void) {
  static arena arena;
  memset(&arena, 0, sizeof arena);
  arena.seed = asked("STRANGER_SEED", 1);
  arena.rounds = (int)asked("STRANGER_ROUNDS", ROUNDS);
  CHECK(pipe(arena.pipe) == 0 && write(arena.pipe[1], "", 1) == 1);
  for (int index = 0; index < SLOTS; index++) pthread_mutex_init(&arena.slots[index].lock, NULL);
  meddler meddlers[LOOPS + MEDDLERS];
  pthread_t threads[LOOPS + MEDDLERS];
  for (int index = 0; index < LOOPS + MEDDLERS; index++) {
    meddlers[index] = (meddler){&arena, index, arena.seed + index};
  }
  for (int index = 0; index < LOOPS; index++) threads[index] = begin_thread(run_until_over, &meddlers[index]);
  while (arena.ready < LOOPS) sched_yield();
  for (int index = LOOPS; index < LOOPS + MEDDLERS; index++) {
    threads[index] = begin_thread(meddle_often, &meddlers[index]);
  }
  void *failure;
  for (int index = LOOPS; index < LOOPS + MEDDLERS; index++) pthread_join(threads[index], NULL);
  atomic_store(&arena.over, 1);
  for (int index = 0; index < LOOPS; index++) {
    pthread_join(threads[index], &failure);
    if (failure) return failure;
  }
  for (int index = 0; index < SLOTS; index++) {
    if (arena.slots[index].item) end(arena.slots[index].item);
    pthread_mutex_destroy(&arena.slots[index].lock);
  }
  for (int index = 0; index < LOOPS; index++) DO(rondo_release(arena.loops[index]));
  close(arena.pipe[0]), close(arena.pipe[1]);
  CHECK(arena.wrong == 0);
  CHECK(arena.made == arena.destroyed);
  return NULL;
}

const stranger_test stranger_races[] = {
  {"random operations of four threads destroy each context once", random_operations},
  ENDED,
};
