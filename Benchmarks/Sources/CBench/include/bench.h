// What every subject of the benchmarks shares.
//
// Every subject hands its events to the same C functions through the same kind of pointer, so a callout costs the same
// and checks the same whichever language its loop is written in. A peer written in C fills in one `bench_peer`; a peer
// written in Swift conforms to `Subject` and `BenchLoop`.

#ifndef BENCH_H
#define BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

/// CLOCK_MONOTONIC in nanoseconds.
static inline int64_t bench_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/// What a loop calls: one of the `..._called` functions below, with its meter.
typedef void (*bench_callout)(void *context);

/// How a callout ends the run of the loop that called it.
typedef struct bench_stopper {
  void (*stop)(void *loop);
  void *loop;
} bench_stopper;

static inline void bench_stop(const bench_stopper *stopper) {
  stopper->stop(stopper->loop);
}

// MARK: Wakes

/// Measures wakes: the sender stamps, the callout on the woken loop takes the difference.
typedef struct bench_meter {
  int64_t stamp;        // atomic: when the sender began the wake in flight
  size_t received;      // atomic: callouts so far
  size_t surplus;       // atomic: callouts after the last expected one
  size_t expected;      // constant
  int64_t *latencies;   // loop thread, until the loop has returned
  bench_stopper stopper;
} bench_meter;

/// The sender's half, right before it wakes the loop.
static inline void bench_meter_send(bench_meter *meter) {
  __atomic_store_n(&meter->stamp, bench_now(), __ATOMIC_RELEASE);
}

/// The callout's half: stops the loop when the last wake has arrived.
void bench_meter_called(void *meter);

/// Callouts so far, from any thread.
static inline size_t bench_meter_received(const bench_meter *meter) {
  return __atomic_load_n(&meter->received, __ATOMIC_ACQUIRE);
}

/// Callouts nobody sent a wake for.
static inline size_t bench_meter_surplus(const bench_meter *meter) {
  return __atomic_load_n(&meter->surplus, __ATOMIC_ACQUIRE);
}

/// The threads that something runs on, and how often it ran on each. It runs on one at a time.
typedef struct bench_threads {
  uintptr_t threads[8];  // 0: none
  size_t counts[8];
} bench_threads;

/// Counts the calling thread. More than eight are not told apart from each other.
static inline void bench_threads_count(bench_threads *threads) {
  uintptr_t self = (uintptr_t)__builtin_thread_pointer();
  int index = 0;
  while (index < 7 && threads->threads[index] != self && threads->threads[index] != 0) index += 1;
  threads->threads[index] = self;
  threads->counts[index] += 1;
}

/// How often two that take turns ran on the same thread, at least.
size_t bench_threads_shared(const bench_threads *one, const bench_threads *other);

/// How many threads the two ran on.
size_t bench_threads_number(const bench_threads *one, const bench_threads *other);

/// One side of a ping-pong: each callout wakes the other loop.
typedef struct bench_paddle {
  bench_threads threads;      // loop thread
  size_t calls;               // loop thread
  size_t target;              // constant: the call at which this side stops
  bool answers_last;          // constant: whether the last call is answered too
  void (*send)(void *wake);   // constant: wakes the other loop
  void *wake;
  bench_stopper stopper;
} bench_paddle;

void bench_paddle_called(void *paddle);

// MARK: Counting

/// Counts callouts, and stops the loop at the one asked for. Loop thread only.
typedef struct bench_counter {
  size_t calls;
  size_t target;  // 0: never stop
  bench_stopper stopper;
} bench_counter;

void bench_counter_called(void *counter);

/// Counts blocks, and has the next batch posted by the last block of one. Loop thread only.
typedef struct bench_poster {
  size_t calls;
  size_t target;
  size_t posted;
  size_t batch;
  void (*post)(void *loop, size_t count, bench_callout callout, void *context);
  bench_stopper stopper;  // and the loop to post to
} bench_poster;

void bench_poster_called(void *poster);

/// Counts the fires and the sleeps of a while that begins and ends with the first callout after a sleep, so that it
/// holds whole wakes. One callout at a time.
///
/// The dues are evenly spread, and a loop serves all that is due. So the n-th callout belongs to the n-th due.
typedef struct bench_window {
  int64_t opens;         // not before this moment
  int64_t length;        // at least
  int64_t patience;      // how much longer to wait for a sleep
  int64_t begin;         // 0 before
  int64_t end;           // 0 before
  size_t fires;          // callouts in it
  int64_t sleeps;        // at the last callout
  int64_t first_sleeps;
  int64_t last_sleeps;
  int64_t first_cpu;     // processor time of the process
  int64_t last_cpu;
  int64_t origin;        // the first due
  int64_t step;          // between dues
  size_t calls;          // callouts, those before the window included
  int64_t *lateness;     // by fire
  size_t capacity;       // of `lateness`
  bench_stopper stopper;
} bench_window;

void bench_window_called(void *window);

// MARK: Descriptors in a ring

/// Socket pairs in a ring: whoever reads a byte writes one to the next pair, while there are bytes left to write.
typedef struct bench_ring {
  size_t pairs;
  int *descriptors;     // two for each pair: the end that is watched, the end that is written
  size_t writes;        // still to be made
  size_t calls;
  size_t target;        // the call that stops the loop
  size_t faults;        // callouts that found nothing to read
  bench_stopper stopper;
} bench_ring;

typedef struct bench_ring_end {
  bench_ring *ring;
  size_t index;
} bench_ring_end;

void bench_ring_called(void *end);

/// Writes the first bytes of a run, evenly spaced.
bool bench_ring_begin(bench_ring *ring, size_t active, size_t events);

// MARK: Repeating timers

/// Computes until the calling thread has used this much processor time; returns what it used.
int64_t bench_compute(int64_t nanoseconds);

/// Measures a repeating timer against a grid the harness owns. Loop thread only.
typedef struct bench_ticks {
  int64_t first;       // when grid point 0 is due, CLOCK_MONOTONIC in nanoseconds
  int64_t interval;    // between grid points
  int64_t work;        // how long a callout computes, in processor time of its thread
  int64_t worked;      // how long they did altogether
  size_t expected;     // grid points in the run
  size_t next;         // the oldest grid point not served yet
  size_t fires;        // callouts so far
  size_t missed;       // grid points that passed without a callout of their own
  size_t early;        // callouts before their grid point: a fault
  int64_t claims[2];   // when the subject itself holds its first and its last callout to be due; 0 when it cannot say
  int64_t *lateness;   // by callout
} bench_ticks;

/// When a grid point is due.
static inline int64_t bench_ticks_due(const bench_ticks *ticks, size_t index) {
  return ticks->first + (int64_t)index * ticks->interval;
}

/// Called first thing in the timer's callout. True when the grid is used up and the loop shall return.
///
/// A callout serves the oldest grid point outstanding; those that have passed besides are counted as missed. A loop that
/// does not merge ticks calls out for one of those afterwards: then it was not missed.
static inline bool bench_ticks_hit(bench_ticks *ticks) {
  int64_t late = bench_now() - bench_ticks_due(ticks, ticks->next);
  if (late < 0 && ticks->missed > 0) {
    ticks->missed -= 1;
    ticks->next -= 1;
    late += ticks->interval;
  }
  size_t passed = late > 0 ? (size_t)(late / ticks->interval) : 0;
  if (late < 0) ticks->early += 1;
  if (ticks->fires < ticks->expected) ticks->lateness[ticks->fires] = late;
  ticks->fires += 1;
  ticks->missed += passed;
  ticks->next += passed + 1;
  if (ticks->work > 0) ticks->worked += bench_compute(ticks->work);
  return ticks->next >= ticks->expected;
}

/// Whether the grid is used up.
static inline bool bench_ticks_are_done(const bench_ticks *ticks) {
  return ticks->next >= ticks->expected;
}

/// Whether this callout, already counted, is one to claim: the first or the last.
static inline bool bench_ticks_wants_claim(const bench_ticks *ticks) {
  return ticks->fires == 1 || ticks->next >= ticks->expected;
}

/// The subject's own idea of when this callout was due, so that its schedule can be told from the kernel's noise.
static inline void bench_ticks_claim(bench_ticks *ticks, int64_t due) {
  ticks->claims[ticks->fires == 1 ? 0 : 1] = due;
}

// MARK: Peers written in C

/// A subject written in C: each group of functions is one ability, and a null group is one it does not have.
///
/// Everything happens on the thread that opened the loop, except `wake_send` and `post`.
typedef struct bench_peer {
  const char *name;
  const char *summary;
  /// Why the peer cannot be measured in this build; null when it can.
  const char *absence;
  /// The library's version; null when there is no library.
  const char *(*version)(void);

  /// A loop on the calling thread; null on failure. `posts`: other threads will post blocks to it.
  void *(*open)(bool posts);
  void (*close)(void *loop);
  /// Runs until `stop`, which a callout calls.
  void (*run)(void *loop);
  void (*stop)(void *loop);
  /// One turn that does not sleep.
  void (*poll)(void *loop);

  /// A wake to a callout, sent from any thread. Null on failure, as all that is added.
  void *(*wake_add)(void *loop, bench_callout callout, void *context);
  void (*wake_send)(void *wake);
  void (*wake_remove)(void *wake);

  /// A source that is signalled always: called in every turn. `signal_refusal` says why there is none.
  void *(*signal_add)(void *loop, bench_callout callout, void *context);
  void (*signal_remove)(void *signal);
  const char *signal_refusal;

  /// Tells that a descriptor is readable, level-triggered.
  void *(*watch_add)(void *loop, int descriptor, bench_callout callout, void *context);
  void (*watch_remove)(void *watch);
  /// The largest number of descriptors that is served in seconds, not minutes; 0 for any.
  size_t watch_limit;

  /// Is called before every sleep.
  void *(*observer_add)(void *loop, bench_callout callout, void *context);
  void (*observer_remove)(void *observer);

  /// Posts as many blocks, one after the other, from any thread. `post_refusal` says why it cannot.
  void (*post)(void *loop, size_t count, bench_callout callout, void *context);
  const char *post_refusal;

  /// timer.lateness: runs a repeating timer on the calling thread until the grid is used up; false on failure.
  bool (*ticks_run)(bench_ticks *ticks);
  /// Why the calling thread cannot run such a timer here; null when it can.
  const char *(*ticks_refusal)(void);
  /// Whether that polls instead of sleeping: a count of its calls would be one of time.
  bool spins;

  /// Makes timers that fire once and adds them, each allocated by itself. Times are CLOCK_MONOTONIC nanoseconds; never
  /// early. A timer is freed as it fires.
  void *(*shots_add)(void *loop, size_t count, const int64_t *dues, bench_callout callout, void *context);
  /// Cancels and frees every timer, in the order of `order`.
  void (*shots_cancel)(void *shots, const size_t *order);
  /// Gives back what is left of them; cancelled or fired, all of them.
  void (*shots_free)(void *shots);

  /// Timers that can be started any number of times, stopped at first.
  void *(*timers_make)(void *loop, size_t count, bench_callout callout, void *context);
  /// Has each fire once at its due, stopped or not until now.
  void (*timers_start)(void *timers, const int64_t *dues);
  /// Stops every timer, in the order of `order`.
  void (*timers_stop)(void *timers, const size_t *order);
  /// Gives the memory back; stopped or fired, all of them.
  void (*timers_free)(void *timers);
  /// The largest number that comes due in bulk in seconds, not minutes; 0 for any.
  size_t fire_limit;

  /// Repeating timers in bulk: first at `dues`, then every `interval`, at most `tolerance` late, while the loop runs.
  void *(*repeats_add)(
    void *loop, size_t count, const int64_t *dues, int64_t interval, int64_t tolerance, bench_callout callout,
    void *context);
  void (*repeats_remove)(void *repeats);
  /// Whether `tolerance` may be other than 0.
  bool has_tolerance;
} bench_peer;

// MARK: Threads and processors

/// The processors this process may run on, lowest first; returns how many there are.
int bench_allowed_processors(int *processors, int capacity);

/// Binds the calling thread to one processor.
bool bench_pin(int processor);

/// Makes every ordinary thread that becomes runnable on its processor preempt the calling thread at once.
/// An unprivileged thread cannot take this back.
bool bench_give_way(void);

/// Whether the kernel schedules the calling thread as it does by default.
bool bench_is_ordinary(void);

/// The kernel's id of the calling thread.
int bench_thread_id(void);

/// Opens what `bench_thread_sleeps` reads; negative on failure.
int bench_thread_watch(int thread);

/// Whether the watched thread is blocked in the kernel, by the kernel's own account.
bool bench_thread_sleeps(int watch);

/// Sleeps for about this many nanoseconds.
void bench_pause(int64_t nanoseconds);

// MARK: What the process used

/// The load average of the last minute; negative when unknown.
double bench_load(void);

/// Processor time of the whole process, in nanoseconds.
int64_t bench_cpu_time(void);

/// The clock of the calling thread's processor time, for any thread to read.
clockid_t bench_thread_clock(void);

/// Reads a clock, in nanoseconds.
int64_t bench_clock_time(clockid_t clock);

/// How often the calling thread went to sleep in the kernel: its voluntary context switches.
int64_t bench_thread_sleep_count(void);

/// How often any thread of the process went to sleep in the kernel.
int64_t bench_sleep_count(void);

/// Bytes the allocator has handed out and not got back, over all arenas.
size_t bench_bytes_in_use(void);

/// Open descriptors of the process; negative when unknown.
int bench_descriptor_count(void);

/// Raises the limit of open descriptors as far as allowed; returns it.
size_t bench_descriptor_limit(void);

/// A descriptor that is never ready (0) or always readable (1): an eventfd. Negative on failure.
int bench_eventfd(unsigned initial);

/// A connected pair of nonblocking stream sockets.
bool bench_socket_pair(int *ends);

/// Runs a program that writes a CLOCK_MONOTONIC time to its standard output and exits: stores the nanoseconds from
/// before its start to that time. Returns its exit status, negative when it could not be run or wrote no time.
int bench_start_program(const char *path, int64_t *nanoseconds);

/// The clients of a server, and how their requests were answered.
typedef struct bench_clients {
  /// The processors that the server and its clients run on.
  int server, client;
  int connections;
  /// Beside them: connections that send as much as the server takes, and read what it answers.
  int floods;
  /// Of each request, and of its answer, where the request comes back.
  size_t bytes;
  /// Whether they speak TLS 1.3, and whether each request has a connection of its own, with a full handshake.
  bool are_secure, are_new;
  /// How long the clients ask before it counts, and how long it does.
  int64_t warmup, nanoseconds;
  /// What was answered in the time that counts, how long that was, and how long the server's process had a processor.
  int64_t requests, elapsed, processor;
  /// From the first byte of a request, or from its connection's begin, to the last of its answer, in nanoseconds.
  int64_t p50, p99, p999, worst;
  /// What the server's process has more of with all connections made and idle than with one, by connection, in bytes.
  double memory;
} bench_clients;

/// Starts a server, and has clients ask it, each with one request under way. Returns its exit status if it ended by
/// itself, -1 if it could not be started, -2 if an answer was wrong or did not come. The calling thread is bound to the
/// clients' processor afterwards.
///
/// Without a request, bytes have to come back, and descriptor 3 is a listening socket. An HTTP request is answered by
/// `body`, and the program listens by itself at the address that descriptor 3 has. With TLS it finds its certificate and
/// the key in PEM as descriptors 4 and 5.
int bench_clients_run(const char *program, const char *request, const char *body, bench_clients *clients);

/// Whether clients can speak TLS: OpenSSL's headers were there.
bool bench_has_tls(void);

/// Whether an HTTP response is whole: 1 if it is, 0 if more is to come, -1 if it is not `HTTP/1.1 200` with a
/// Content-Length, this body and nothing else.
int bench_response_state(const char *bytes, size_t count, const char *body);

/// Starts a program with nothing but these descriptors, from number 3 on; negative if it could not be started.
pid_t bench_spawn(const char *program, const int *descriptors, int count);

/// A burst of datagrams, and what a program received of it.
typedef struct bench_burst {
  /// The processors that the receiver and the sender run on.
  int receiver, sender;
  /// How many datagrams are sent, of how many bytes, and how long that takes.
  int64_t datagrams;
  size_t bytes;
  int64_t nanoseconds;
  /// How long the receiver computes for each.
  int64_t work;
  /// How many it received, how long it took to send them, and how long the receiver's process had a processor.
  int64_t received, elapsed, processor;
} bench_burst;

/// Starts a program that receives from the bound socket it finds as descriptor 3, and sends it a burst. Returns its exit
/// status if it ended by itself, -1 if it could not be started, -2 if it received nothing or bytes that were not sent. The
/// calling thread is bound to the sender's processor afterwards.
int bench_burst_run(const char *program, bench_burst *burst);

/// read(2), so that Swift files need no other import.
long bench_read(int descriptor, void *bytes, size_t count);

#endif
