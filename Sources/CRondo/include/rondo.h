/*
 * rondo.h - run loops for servers and daemons
 *
 * A run loop belongs to a thread and calls your functions there, one after the other: when a timer is due, when a
 * descriptor is ready, when a source was signalled, when something was posted from another thread. In between it
 * sleeps in the kernel. It is CFRunLoop's model (modes, observers, nested runs) for Linux.
 *
 *     #include <rondo.h>
 *     #include <stdio.h>
 *
 *     static void tick(rondo_timer *timer, const rondo_tick *tick, void *context) {
 *       (void)timer, (void)context;
 *       printf("tick, %lu missed\n", (unsigned long)tick->missed);
 *     }
 *
 *     int main(void) {
 *       rondo_loop *loop;
 *       rondo_timer *timer;
 *       if (rondo_loop_current(&loop) < 0) return 1;
 *       rondo_timer_new(&timer, rondo_now() + RONDO_SECOND, RONDO_SECOND, 0, tick, NULL, NULL);
 *       rondo_loop_add(loop, timer, NULL);
 *       rondo_loop_run(loop, NULL, 3 * RONDO_SECOND + RONDO_SECOND / 2, 0);
 *       rondo_release(timer);
 *       return 0;
 *     }
 *
 *     cc tick.c $(pkg-config --cflags --libs rondo)
 *
 * ANSWERS
 *   A function that can fail returns an int: zero or more is the result, less than zero an error of `enum
 *   rondo_error`. rondo_error_text() describes it. A function writes to its out parameters only if it succeeds.
 *   No bad argument ends the process. The library returns an error for a null pointer, a released handle, a closed
 *   descriptor, the wrong thread, a forked child and a bad name.
 *
 * HANDLES
 *   rondo_loop *, rondo_timer * and the others look like pointers and are numbers. There is nothing to read, and a
 *   handle without references never names another object. A function with `_new` in its name gives you one
 *   reference, which rondo_release() gives back. A loop, and an item that your function is called with, are borrowed.
 *   A borrowed loop is valid until its thread ends, a borrowed item until your function returns; rondo_retain() makes
 *   it yours for longer. A loop holds the items that are in it, so you may release an item as soon as it is added.
 *   Several threads may use one handle, as long as one of them has a reference.
 *
 * CONTEXTS
 *   The `context` that a function is called with is yours; the library never looks at it. You give a `destroy` with
 *   it, which may be NULL. The library calls `destroy` exactly once, when it cannot call the function any more: after
 *   the item was invalidated or has lost its last reference, or after a posted function ran or was dropped. If the
 *   item's function is running then, `destroy` follows when it returns. After a posted function, it is called on the
 *   loop's thread right after the function; otherwise on the thread that invalidates, releases or drops. No lock is
 *   held. If a `_new` or a post fails, the context is still yours and `destroy` is not called.
 *
 * THREADS
 *   Any thread may call any function, unless its description says "The loop's thread": that one answers
 *   RONDO_ERROR_THREAD elsewhere. Your functions are called on the loop's thread, and those of stall monitors on the
 *   library's. They may call everything, may run the loop again, and may invalidate and release the item they are
 *   called for. They must return by returning: no longjmp(3), no pthread_exit(3), no C++ exception may leave them. No
 *   function may be called in a signal handler.
 *   When a thread ends, its loop does: its timers, observers and descriptors become invalid, sources leave it, posts
 *   are dropped. After fork(2), the child's thread has a loop of its own; every handle of the parent answers
 *   RONDO_ERROR_FORKED there.
 *
 * UNITS
 *   Times are nanoseconds in an int64_t. A date is a time of CLOCK_MONOTONIC, which rondo_now() reads; one in the
 *   past counts as now. Nothing is ever called early.
 *
 * MODES
 *   You add items to a mode, and the loop calls them while it runs in that mode. A mode is a name in UTF-8. It exists
 *   from the first item on; a loop has room for 64. NULL is RONDO_DEFAULT_MODE. An item in RONDO_COMMON_MODES is in
 *   every mode that is or becomes common. RONDO_COMMON_MODES cannot be run.
 */
#ifndef RONDO_H
#define RONDO_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* --------------------------------------------------------------------------------------------------- The library */

/* The version of this header. A library of the same major version and the same or a later minor one serves it. */
#define RONDO_VERSION_MAJOR 1
#define RONDO_VERSION_MINOR 0

/* The version of the library that is loaded: 1000 * major + minor. */
int rondo_version(void);

/* Why something was not done. The values do not change. */
enum rondo_error {
  /* No error. */
  RONDO_OK = 0,
  /* An argument that has to point to something is NULL. */
  RONDO_ERROR_NULL = -1,
  /* A handle was released for good, or never was one. A timeout was discarded. */
  RONDO_ERROR_HANDLE = -2,
  /* The handle is of another kind. */
  RONDO_ERROR_KIND = -3,
  /* The calling thread is not the loop's. */
  RONDO_ERROR_THREAD = -4,
  /* The process is the forked child of the one that made the handle. */
  RONDO_ERROR_FORKED = -5,
  /* A mode's name is not UTF-8, or names the common modes where one mode is needed. */
  RONDO_ERROR_MODE = -6,
  /* The loop has 64 modes already. */
  RONDO_ERROR_MODES = -7,
  /* The item was invalidated. */
  RONDO_ERROR_INVALID = -8,
  /* The item is in another loop. */
  RONDO_ERROR_ELSEWHERE = -9,
  /* The item is not in that mode of the loop. */
  RONDO_ERROR_ABSENT = -10,
  /* The loop has ended with its thread. */
  RONDO_ERROR_ENDED = -11,
  /* The descriptor is negative or not open. As a reason: it was closed or its number reused. */
  RONDO_ERROR_DESCRIPTOR = -12,
  /* The descriptor cannot be waited for: a regular file, a directory. As a reason: the kernel refused it. */
  RONDO_ERROR_POLLABLE = -13,
  /* As a reason: another source watches the descriptor with the other trigger. */
  RONDO_ERROR_TRIGGER = -14,
  /*
   * The process or the system has no descriptors left for a loop. See setrlimit(2). As a reason: the user watches as
   * many as fs.epoll.max_user_watches allows. See epoll(7).
   */
  RONDO_ERROR_SHORTAGE = -15,
  /* A number is out of its range: a negative tolerance, an interval where there is none, unknown flags. */
  RONDO_ERROR_RANGE = -16,
  /* The loop is embedded: its host runs it. */
  RONDO_ERROR_EMBEDDED = -17,
  /* The loop is running, or the embedding is in its turn. */
  RONDO_ERROR_RUNNING = -18,
  /* The handle has been released as often as it was retained. */
  RONDO_ERROR_RELEASED = -19,
  /*
   * The kernel has no memory left for a loop or a thread, or for watching (as a reason), or there is no room for
   * another handle.
   */
  RONDO_ERROR_MEMORY = -20
};

/*
 * The meaning of an error, in English, for a log. Never NULL, and valid until the process ends. If the number is no
 * error, the text says so.
 */
const char *rondo_error_text(int error);

/* Units of time. */
#define RONDO_MICROSECOND ((int64_t)1000)
#define RONDO_MILLISECOND ((int64_t)1000000)
#define RONDO_SECOND ((int64_t)1000000000)
/* As a time to run: until stopped. As a date: never. */
#define RONDO_FOREVER INT64_MAX

/* The time now: CLOCK_MONOTONIC. See clock_gettime(2). */
int64_t rondo_now(void);

/* -------------------------------------------------------------------------------------------------------- Handles */

/* The loop of a thread. */
typedef struct rondo_loop rondo_loop;
/* Calls at a date, or at every point of a grid. */
typedef struct rondo_timer rondo_timer;
/* Calls when a thread signals it. Any thread may signal. */
typedef struct rondo_source rondo_source;
/* Calls when a descriptor is ready. */
typedef struct rondo_descriptor rondo_descriptor;
/* Calls at moments of a turn. */
typedef struct rondo_observer rondo_observer;
/* A loop as the guest of another event loop. */
typedef struct rondo_embedding rondo_embedding;
/* Reports functions that keep their loop for too long. */
typedef struct rondo_stall_monitor rondo_stall_monitor;

/* The kind of a handle. A timer, source, descriptor or observer is an item: it can be added to modes. */
enum rondo_kind {
  RONDO_LOOP = 1,
  RONDO_TIMER = 2,
  RONDO_SOURCE = 3,
  RONDO_DESCRIPTOR = 4,
  RONDO_OBSERVER = 5,
  RONDO_EMBEDDING = 6,
  RONDO_STALL_MONITOR = 7
};

/* The kind of a handle, of `enum rondo_kind`; the error that every use of the handle would answer, if it is none. */
int rondo_kind_of(const void *handle);

/* Makes one more reference to a handle of any kind yours. Returns 0. */
int rondo_retain(void *handle);

/*
 * Gives a reference back. Returns 0. The item stays in the loops it is in. If it is in none, its last reference ends
 * it. Give an embedding's last reference back on its loop's thread; that ends the embedding.
 */
int rondo_release(void *handle);

/* A function that is called with its context; also a `destroy`. */
typedef void (*rondo_call)(void *context);

/* ---------------------------------------------------------------------------------------------------------- Loops */

/* The mode of ordinary work; NULL means the same. */
#define RONDO_DEFAULT_MODE "kCFRunLoopDefaultMode"
/* All common modes. */
#define RONDO_COMMON_MODES "kCFRunLoopCommonModes"

/*
 * The calling thread's loop, made on first use. Borrowed: good until the thread ends. Takes three descriptors.
 * Errors: SHORTAGE if there are none left, MEMORY. See CFRunLoopGetCurrent.
 */
int rondo_loop_current(rondo_loop **loop);

/* The main thread's loop, from any thread, made on first use. Borrowed. See CFRunLoopGetMain. */
int rondo_loop_main(rondo_loop **loop);

/* Whether the calling thread is the loop's: 1 or 0. */
int rondo_loop_is_current(rondo_loop *loop);

/* Why a run returned. If several reasons hold, the run returns the largest. CFRunLoopRunInMode's values. */
enum rondo_result {
  /* Nothing is left in the mode, or it does not exist. */
  RONDO_FINISHED = 1,
  /* rondo_loop_stop() or rondo_loop_request_stop() was called. */
  RONDO_STOPPED = 2,
  /* The run's time has passed. */
  RONDO_TIMED_OUT = 3,
  /* A source was handled, under RONDO_ONE_SOURCE. */
  RONDO_HANDLED_SOURCE = 4
};

/* For rondo_loop_run(): return when a source or a descriptor was handled. */
#define RONDO_ONE_SOURCE 1u

/*
 * Runs a mode. The loop's thread. Returns why it returned, of `enum rondo_result`.
 *
 * `nanoseconds` is for how long: RONDO_FOREVER, or a time that begins after the entry observers; zero or less is one
 * turn that only looks. A run may be nested in another. The main thread's loop serves the main dispatch queue in its
 * common modes and so does not finish there. Errors: THREAD, MODE, ENDED, RANGE for unknown flags, EMBEDDED. See
 * CFRunLoopRunInMode.
 */
int rondo_loop_run(rondo_loop *loop, const char *mode, int64_t nanoseconds, unsigned flags);

/*
 * Ends the run under way, the innermost if runs are nested, at the end of its turn. A loop that is not running
 * ignores it. See CFRunLoopStop.
 */
int rondo_loop_stop(rondo_loop *loop);

/* Ends every run under way, or else the next one: it cannot come too early. */
int rondo_loop_request_stop(rondo_loop *loop);

/* Has the sleeping loop go round once more, or keeps it from falling asleep. See CFRunLoopWakeUp. */
int rondo_loop_wake_up(rondo_loop *loop);

/* Whether the loop sleeps at this moment: 1 or 0. See CFRunLoopIsWaiting. */
int rondo_loop_is_waiting(rondo_loop *loop);

/*
 * Writes the name of the innermost run's mode to `buffer`, cut to `size` bytes with the zero at its end. Returns the
 * length of the whole name, as snprintf(3) does: 0 if the loop is not running. See CFRunLoopCopyCurrentMode.
 */
int rondo_loop_current_mode(rondo_loop *loop, char *buffer, size_t size);

/* Is called with a mode's name, which is valid until it returns. */
typedef void (*rondo_mode_call)(const char *mode, void *context);

/*
 * Calls `call` for each mode that something was added to, the default mode first, before it returns. Returns how
 * many. See CFRunLoopCopyAllModes.
 */
int rondo_loop_each_mode(rondo_loop *loop, rondo_mode_call call, void *context);

/*
 * Makes a mode common for good: what is in the common modes joins it. Errors: MODE, MODES, ENDED. See
 * CFRunLoopAddCommonMode.
 */
int rondo_loop_add_common_mode(rondo_loop *loop, const char *mode);

/*
 * The date of the mode's next timer; RONDO_FOREVER if it has none. Exact on the loop's thread; elsewhere it is what
 * the loop last went to sleep with. See CFRunLoopGetNextTimerFireDate.
 */
int rondo_loop_next_date(rondo_loop *loop, const char *mode, int64_t *date);

/* ------------------------------------------------------------------------------------------------- Items in modes */

/*
 * Puts an item into a mode. The loop holds it until it is removed or invalidated; adding it twice changes nothing. A
 * timer, descriptor or observer is in one loop at a time, a source may be in several. From another thread it wakes
 * the loop. O(log n) for a timer, O(1) otherwise; O(n) for an observer that goes before others. Errors: KIND if it is
 * no item, MODE, MODES, INVALID, ELSEWHERE, ENDED. See CFRunLoopAddTimer and its kin.
 */
int rondo_loop_add(rondo_loop *loop, void *item, const char *mode);

/*
 * Takes an item out of a mode; it is not called there again. Errors: KIND, MODE, ABSENT. See CFRunLoopRemoveTimer and
 * its kin.
 */
int rondo_loop_remove(rondo_loop *loop, void *item, const char *mode);

/* Whether an item is in a mode, or with RONDO_COMMON_MODES among the common items: 1 or 0. */
int rondo_loop_contains(rondo_loop *loop, void *item, const char *mode);

/*
 * Takes an item out of every mode for good; nothing of it is called again. A call that is under way on the loop's
 * thread is not waited for: `destroy` comes after it. Invalidating twice changes nothing. See
 * CFRunLoopTimerInvalidate and its kin.
 */
int rondo_item_invalidate(void *item);

/* Whether an item can still be called: 1 or 0. */
int rondo_item_is_valid(void *item);

/* -------------------------------------------------------------------------------------------------- Posted calls */

/* For rondo_loop_post() and rondo_source_signal(): do not wake a sleeping loop for it, as CFRunLoop does not. */
#define RONDO_QUIETLY 1u

/*
 * Has `call` called once on the loop's thread while it runs in `mode`, after what was posted before; in any common
 * mode, with RONDO_COMMON_MODES. Wakes the loop: one system call if it sleeps. A posted function is never lost while
 * the loop lives; if the loop ends first, it is dropped and its context destroyed. O(1). Errors: NULL, MODE, MODES,
 * RANGE, ENDED. See CFRunLoopPerformBlock.
 */
int rondo_loop_post(
  rondo_loop *loop, const char *mode, unsigned flags, rondo_call call, void *context, rondo_call destroy);

/* --------------------------------------------------------------------------------------------------------- Timers */

/* A fire, for the timer's function. */
typedef struct rondo_tick {
  /* The grid point this fire is for. */
  int64_t scheduled;
  /* When the loop served it; not before `scheduled`, unless you fired it with rondo_timer_fire(). */
  int64_t actual;
  /* Grid points since the last fire that passed without one, because the loop was busy or not running. */
  uint64_t missed;
} rondo_tick;

typedef void (*rondo_timer_call)(rondo_timer *timer, const rondo_tick *tick, void *context);

/*
 * Makes a timer that fires at `date`, and every `interval` from there unless that is 0. The grid never shifts: a late
 * fire does not move the next one, and grid points that pass while the loop is busy are merged into one fire and
 * counted. A timer that fires once is invalid afterwards. Of timers of the same nanosecond, the one of lower `order`
 * is first. Errors: NULL, RANGE for a negative interval, MEMORY. See CFRunLoopTimerCreate.
 */
int rondo_timer_new(
  rondo_timer **timer, int64_t date, int64_t interval, int order, rondo_timer_call call, void *context,
  rondo_call destroy);

/* When it fires next. */
int rondo_timer_date(rondo_timer *timer, int64_t *date);

/* Has it fire at `date`, the new origin of its grid. Putting off costs one store. Errors: INVALID. */
int rondo_timer_set_date(rondo_timer *timer, int64_t date);

/* The time between fires; 0 if it fires once. */
int rondo_timer_interval(rondo_timer *timer, int64_t *interval);

/* Sets the time between fires from the next one on. Errors: INVALID; RANGE if not positive, or the timer fires once. */
int rondo_timer_set_interval(rondo_timer *timer, int64_t interval);

/* How much later than its date it may fire. */
int rondo_timer_tolerance(rondo_timer *timer, int64_t *tolerance);

/*
 * Sets how much later than its date it may fire, so that timers share wakeups; 0 at first. Up to half the interval of
 * one that repeats. Errors: INVALID, RANGE if it is negative.
 */
int rondo_timer_set_tolerance(rondo_timer *timer, int64_t tolerance);

/* Whether the loop spins the last microseconds to its date instead of sleeping through them; not at first. */
int rondo_timer_set_precise(rondo_timer *timer, int is_precise);

/*
 * Calls its function now. The thread of the loop it is in. One that repeats keeps its grid; one that fires once is
 * invalid afterwards. Errors: THREAD, INVALID.
 */
int rondo_timer_fire(rondo_timer *timer);

/* ------------------------------------------------------------------------------------------------------- Timeouts */

/*
 * A timeout is the light form of a timer, for one a connection: a function and a context in the loop's own
 * table, without an object, a lock or a reference. It fires once and is dormant then, until it is armed again; it may
 * be armed, put off and disarmed any number of times, in its own function as well. The handle is a value: copy it
 * freely; one whose timeout was discarded never means another. It has no `destroy`: discard it, and the context is
 * yours again. When the loop ends, its timeouts are discarded. All of it belongs to the loop's thread.
 */
typedef struct rondo_timeout {
  /* Nothing to read. All zero is no timeout. */
  uint64_t number;
  uint64_t loop;
} rondo_timeout;

/*
 * Makes a timeout that fires at `date`, in runs of `mode`, or of any common mode; a dormant one with RONDO_FOREVER.
 * It may be late by `tolerance`, so that timeouts share wakeups. Takes 64 bytes, and 16 more while it is armed, with
 * tolerance 32. The loop's thread. Errors: NULL, THREAD, MODE, MODES, RANGE for a negative tolerance, ENDED.
 */
int rondo_timeout_new(
  rondo_timeout *timeout, rondo_loop *loop, const char *mode, int64_t date, int64_t tolerance, rondo_call call,
  void *context);

/*
 * Has it fire at `date` instead of ever before: arms it, or moves it; RONDO_FOREVER disarms it. The loop's thread.
 * Putting off costs a store, arming and bringing forward O(log n). Errors: THREAD, HANDLE if it was discarded or is
 * another loop's.
 */
int rondo_timeout_arm(rondo_loop *loop, rondo_timeout timeout, int64_t date);

/* Keeps it from firing until it is armed again. The loop's thread; O(1). Errors: THREAD, HANDLE. */
int rondo_timeout_disarm(rondo_loop *loop, rondo_timeout timeout);

/* Ends it. The loop's thread; O(1). Errors: THREAD, HANDLE. */
int rondo_timeout_discard(rondo_loop *loop, rondo_timeout timeout);

/* When it fires; RONDO_FOREVER if it is dormant. The loop's thread. Errors: THREAD, HANDLE. */
int rondo_timeout_date(rondo_loop *loop, rondo_timeout timeout, int64_t *date);

/* ----------------------------------------------------------------------------------------------- Signalled sources */

typedef void (*rondo_source_call)(rondo_source *source, void *context);
/* Is called with a mode of a loop that a source has joined or left. */
typedef void (*rondo_source_mode_call)(rondo_source *source, rondo_loop *loop, const char *mode, void *context);

/*
 * Makes a source that any thread can signal. However often it is signalled before it is served, `perform` is called
 * once, on the thread of the first of its loops that gets to it. Sources of lower `order` are first.
 *
 * `schedule` and `cancel` may be NULL. They are called once for each mode that the source joins and leaves, on the
 * thread that adds, removes or invalidates it, with no lock held. Errors: NULL if there is no `perform`, MEMORY. See
 * CFRunLoopSourceCreate.
 */
int rondo_source_new(
  rondo_source **source, int order, rondo_source_call perform, rondo_source_mode_call schedule,
  rondo_source_mode_call cancel, void *context, rondo_call destroy);

/*
 * Asks for one call of `perform`, and wakes the source's loops, unless `flags` is RONDO_QUIETLY. Costs one system
 * call for each loop that sleeps. Errors: INVALID, RANGE. See CFRunLoopSourceSignal and CFRunLoopWakeUp.
 */
int rondo_source_signal(rondo_source *source, unsigned flags);

/* Whether a signal waits to be served: 1 or 0. */
int rondo_source_is_signalled(rondo_source *source);

/* ---------------------------------------------------------------------------------------------------- Descriptors */

/* How a descriptor is ready. A set: add them up. */
enum rondo_readiness {
  /* Reading will not block: data, end of file, or an error to fetch. */
  RONDO_READ = 1,
  /* Writing will not block. */
  RONDO_WRITE = 2,
  /* The peer closed its end, or at least its sending side. */
  RONDO_CLOSED = 4
};

/* For rondo_descriptor_new(): tell when it becomes ready, not whenever it is; read or write until EAGAIN. */
#define RONDO_EDGE 1u
/* For rondo_descriptor_new(): the loop closes the descriptor when the source was invalidated. */
#define RONDO_CLOSE 2u

typedef void (*rondo_descriptor_call)(
  rondo_descriptor *source, int descriptor, unsigned readiness, void *context);

/*
 * Makes a source that calls when `descriptor` is ready for what `readiness` says. It never reads from it. It calls in
 * every turn in which it is ready, unless `flags` has RONDO_EDGE. The descriptor stays yours, unless `flags` has
 * RONDO_CLOSE: invalidate the source before you close it. If you close it first, the kernel forgets it silently; the
 * source becomes invalid when the loop next asks for it, and rondo_descriptor_reason() says why. Sources of lower
 * `order` are first. Errors: NULL, DESCRIPTOR, POLLABLE, RANGE for unknown bits, MEMORY. See epoll(7).
 */
int rondo_descriptor_new(
  rondo_descriptor **source, int descriptor, unsigned readiness, unsigned flags, int order, rondo_descriptor_call call,
  void *context, rondo_call destroy);

/* The readiness that it calls for at present: bits of `enum rondo_readiness`. */
int rondo_descriptor_enabled(rondo_descriptor *source);

/* Calls only for this from now on; 0: never. At most one epoll_ctl(2), at the next wait. Errors: INVALID, RANGE. */
int rondo_descriptor_enable(rondo_descriptor *source, unsigned readiness);

/* Why the loop made it invalid, as an error: DESCRIPTOR, POLLABLE, TRIGGER; 0 if it did not. */
int rondo_descriptor_reason(rondo_descriptor *source);

/* ------------------------------------------------------------------------------------------------------ Observers */

/* The moments of a turn. A set: add them up. CFRunLoopActivity's values. */
enum rondo_activity {
  /* A run begins. */
  RONDO_ENTRY = 1,
  /* A turn begins. */
  RONDO_BEFORE_TIMERS = 2,
  /* Posted calls and signalled sources are about to be served. */
  RONDO_BEFORE_SOURCES = 4,
  /* The loop is about to sleep. A turn that only looks leaves it out. */
  RONDO_BEFORE_WAITING = 32,
  /* The loop woke up, and has served nothing yet. */
  RONDO_AFTER_WAITING = 64,
  /* A run ends. */
  RONDO_EXIT = 128,
  /* Each of them, and those to come. */
  RONDO_ALL_ACTIVITIES = 0x0FFFFFFF
};

/* For rondo_observer_new(): make it invalid after its first call. */
#define RONDO_ONCE 1u

typedef void (*rondo_observer_call)(rondo_observer *observer, unsigned activity, void *context);

/*
 * Makes an observer that is called at `activities`. Observers of lower `order` are first.
 * Errors: NULL, RANGE for unknown flags, MEMORY. See CFRunLoopObserverCreate.
 */
int rondo_observer_new(
  rondo_observer **observer, unsigned activities, unsigned flags, int order, rondo_observer_call call, void *context,
  rondo_call destroy);

/* ------------------------------------------------------------------------------------------------------ Embedding */

/*
 * Makes a loop the guest of another event loop, which has the thread: epoll(7), GLib, libuv, Qt. The host watches one
 * descriptor for reading, level-triggered, and calls rondo_embedding_turn() when it is readable. An idle guest makes
 * no system call. The loop serves `mode`. The loop's thread, while the loop does not run. Errors: THREAD, MODE,
 * MODES, ENDED, EMBEDDED if it is embedded already, RUNNING, MEMORY.
 */
int rondo_embedding_new(rondo_embedding **embedding, rondo_loop *loop, const char *mode);

/*
 * The descriptor to watch; the same until the embedding ends. It is the loop's: do not read or close it. The loop's
 * thread. Errors: THREAD, ENDED.
 */
int rondo_embedding_descriptor(rondo_embedding *embedding);

/*
 * Serves what is due, without sleeping. The loop's thread, not in one of the loop's calls. Returns 0 while the run
 * lasts, RONDO_STOPPED if it was stopped, RONDO_FINISHED if nothing is left in the mode; the next turn then begins
 * another run. Errors: THREAD, ENDED, RUNNING.
 */
int rondo_embedding_turn(rondo_embedding *embedding);

/*
 * When the next turn has something to do, as far as is known now; RONDO_FOREVER if only the descriptor will tell. A
 * host that watches the descriptor needs no deadline. The loop's thread. Errors: THREAD, ENDED.
 */
int rondo_embedding_deadline(rondo_embedding *embedding, int64_t *date);

/*
 * Ends the run under way, and the embedding; inside a turn, when the turn returns. Have the host forget the descriptor
 * before. Ending it twice changes nothing. The loop's thread. Errors: THREAD.
 */
int rondo_embedding_end(rondo_embedding *embedding);

/* ------------------------------------------------------------------------------------------------------- Measures */

/* Counts since the loop was made. Each figure is exact; together they may be a turn apart. */
typedef struct rondo_statistics {
  /* Set it to sizeof(rondo_statistics) before the call: a later library knows what you have room for. */
  size_t size;
  uint64_t turns;
  /* Waits that could sleep, and waits that only looked. */
  uint64_t sleeps, polls;
  /* The causes that ended sleeps. */
  uint64_t wakeups_by_post, wakeups_by_descriptor, wakeups_by_timer, wakeups_by_timeout, wakeups_by_main_queue;
  /* Early returns of the kernel that the loop slept on after. */
  uint64_t spurious_wakeups;
  /* Spins for precise timers and before sleeps, those that the budget denied, and their time. */
  uint64_t spins, spins_denied;
  int64_t time_spinning;
  /* Time asleep, while rondo_loop_set_times_sleep() has it measured. */
  int64_t time_asleep;
  /* Calls by kind; those of timers include timeouts. */
  uint64_t observer_calls, timer_calls, source_calls, descriptor_calls, post_calls, main_queue_calls;
  /* Grid points of timers that passed without a fire. */
  uint64_t missed_ticks;
} rondo_statistics;

/* Fills in the statistics, up to their `size`. Errors: RANGE if there is not even room for the size. */
int rondo_loop_statistics(rondo_loop *loop, rondo_statistics *statistics);

/* Has sleeps timed, or not; not at first. Costs two readings of the clock a sleep. */
int rondo_loop_set_times_sleep(rondo_loop *loop, int times_sleep);

/* How much of each second the loop may spin for precise timers; 100 ms at first. 0 to RONDO_SECOND. Errors: RANGE. */
int rondo_loop_set_precision_budget(rondo_loop *loop, int64_t nanoseconds);

/*
 * How much of each second the loop may spin before it sleeps, so that a thread of another processor wakes it without
 * a system call. 20 ms at first, and then only in a dialogue: four posts in a row have each ended a sleep within 100 us of
 * the one before. With a budget that you set, each sleep may begin with a spin. It rests where another thread wants its
 * processor. From 0 to RONDO_SECOND. Errors: RANGE.
 */
int rondo_loop_set_busy_poll_budget(rondo_loop *loop, int64_t nanoseconds);

/* --------------------------------------------------------------------------------------------------------- Stalls */

/* A report of a call that keeps its loop for longer than a limit. Its texts are valid until your function returns. */
typedef struct rondo_stall {
  /* The name of the loop. */
  const char *loop;
  /* The call under way: its kind, and the name of your function if it has one. Empty for the loop's own work. */
  const char *callout;
  /* The report in one line. */
  const char *text;
  /* The stack of the loop's thread, a line a function, the innermost first. Empty at the end, or if there is none. */
  const char *stack;
  /* The least duration; at the end all of it. */
  int64_t duration;
  /* Stalls that were not reported since the previous report. */
  uint64_t unreported;
  /* The kernel's number of the loop's thread. See gettid(2). */
  int thread;
  /* Whether the stall has ended: 1 or 0. */
  int has_ended;
} rondo_stall;

typedef void (*rondo_stall_call)(rondo_stall_monitor *monitor, const rondo_stall *stall, void *context);

/*
 * Makes a monitor that reports each call that keeps its loop for longer than `limit`, while it does, and its end. It
 * watches no loop at first. The limit is at least RONDO_MILLISECOND. At most one call a second is reported.
 *
 * One thread of the library looks at the loops for all monitors, and calls `call`. It looks up symbols before, for some
 * 0.2 s, and watches no loop until `call` returns. If `call` is NULL, stderr gets the report. SIGURG stops a running
 * thread for some microseconds, so that its stack can be read. A thread that blocks SIGURG has a stack only while it
 * sleeps in the kernel. The last reference ends the monitor; you may give it back in `call`. With
 * RONDO_INSPECT=stalls=250 in its environment, a program reports calls of more than 250 ms on stderr, without a monitor
 * of its own. Errors: NULL, RANGE, SHORTAGE, MEMORY.
 */
int rondo_stall_monitor_new(
  rondo_stall_monitor **monitor, int64_t limit, rondo_stall_call call, void *context, rondo_call destroy);

/* Begins to watch a loop, until the loop ends. Watching it twice changes nothing. Errors: ENDED. */
int rondo_stall_monitor_watch(rondo_stall_monitor *monitor, rondo_loop *loop);

/* Stops watching a loop. The report under way is not waited for. */
int rondo_stall_monitor_stop_watching(rondo_stall_monitor *monitor, rondo_loop *loop);

#ifdef __cplusplus
}
#endif

#endif
