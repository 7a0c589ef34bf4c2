#define _GNU_SOURCE

#include "signals.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

// One subscription. It is never freed but used again: a handler may be looking at it.
struct entry {
  // *atomic* -1 when there is no subscription.
  _Atomic int eventfd;
  // *atomic* How many handlers are about to write into the eventfd.
  _Atomic unsigned busy;
  // *atomic* See rondo_signal_last.
  _Atomic uint64_t sender;
  _Atomic int64_t date;
  // *atomic* What comes from this date on is not for it.
  _Atomic int64_t end;
  // *constant while subscribed* Which file the eventfd was. Eventfds, timerfds and epoll sets share an inode.
  dev_t device;
  ino_t inode;
  // *the lock* 0 when there is no subscription.
  int64_t number;
  // *constant* in the list.
  struct entry *next;
};

// What is known of one signal.
struct line {
  // *atomic* Its subscriptions, the latest first.
  struct entry *_Atomic first;
  // *the lock* How many there are.
  int count;
  // *the lock* What the last one puts back.
  struct sigaction previous;
  // *the lock* Whether other code took the handler's place, and so may call it as what was there before.
  bool is_buried;
  // *atomic* What the handler does when it is called without a subscription: the disposition before the first one.
  _Atomic(void *) base;
  _Atomic bool base_takes_info;
};

static struct line lines[_NSIG];
// *atomic* The process that the subscriptions belong to; negative while a forked child puts them away.
static _Atomic pid_t owner;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
// *the lock*
static int64_t last_number;

// What the signal would have met without the handler: in a forked child, or between two subscriptions.
static void act_as_before(int signal, siginfo_t *info, void *context) {
  void *base = atomic_load(&lines[signal].base);
  if (base == (void *)SIG_IGN) return;
  if (base != (void *)SIG_DFL) {
    if (atomic_load(&lines[signal].base_takes_info)) {
      ((void (*)(int, siginfo_t *, void *))base)(signal, info, context);
    } else {
      ((void (*)(int))base)(signal);
    }
    return;
  }
  if (signal == SIGCHLD || signal == SIGCONT || signal == SIGURG || signal == SIGWINCH) return;
  struct sigaction action = {.sa_handler = SIG_DFL};
  sigaction(signal, &action, NULL);
  // It is blocked until the handler returns, and acts then.
  syscall(SYS_tgkill, getpid(), syscall(SYS_gettid), signal);
}

// CLOCK_MONOTONIC, in nanoseconds.
static int64_t now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

// The signal handler. It calls nothing that signal-safety(7) does not allow.
static void handle(int signal, siginfo_t *info, void *context) {
  int error = errno;
  bool is_heard = false;
  // A forked child shares the eventfds with its parent, which must not hear of the child's signals.
  if (atomic_load(&owner) == getpid()) {
    int64_t date = now();
    for (struct entry *entry = atomic_load(&lines[signal].first); entry; entry = entry->next) {
      atomic_fetch_add(&entry->busy, 1);
      int eventfd = atomic_load(&entry->eventfd);
      struct stat status;
      // The program may have closed it behind the source: the number may stand for a file that shall get no byte.
      if (eventfd >= 0 && date < atomic_load(&entry->end) && fstat(eventfd, &status) == 0 && status.st_dev == entry->device &&
          status.st_ino == entry->inode) {
        // The kernel fills in the sender for kill(2) and tgkill(2). A caller of rt_sigqueueinfo(2) fills it in itself.
        bool is_sent = info->si_code == SI_USER || info->si_code == SI_TKILL;
        uint64_t sender = (uint64_t)(uint32_t)info->si_pid << 32 | (uint32_t)info->si_uid;
        atomic_store(&entry->sender, is_sent && info->si_pid > 0 ? sender : 0);
        atomic_store(&entry->date, date);
        uint64_t one = 1;
        is_heard |= write(eventfd, &one, sizeof one) == sizeof one;
      }
      atomic_fetch_sub(&entry->busy, 1);
    }
  }
  if (!is_heard) act_as_before(signal, info, context);
  errno = error;
}

static bool is_ours(const struct sigaction *action) {
  return (action->sa_flags & SA_SIGINFO) && action->sa_sigaction == handle;
}

// SA_RESTART: code unaware of these signals sees no EINTR of them. SA_ONSTACK: a thread with a small stack of its own
// may have provided another one.
static int install(int signal, struct sigaction *seen) {
  struct sigaction action = {.sa_sigaction = handle, .sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK};
  return sigaction(signal, &action, seen) ? -errno : 0;
}

// Puts the disposition back that the first subscription found.
static void restore(int signal) {
  struct line *line = &lines[signal];
  struct sigaction seen;
  if (sigaction(signal, NULL, &seen)) return;
  if (is_ours(&seen)) {
    if (sigaction(signal, &line->previous, &seen) || is_ours(&seen)) return;
    // Other code installed `seen` in between: the latest disposition stays.
    sigaction(signal, &seen, NULL);
  }
  line->is_buried = true;
}

// Puts away what the parent of a forked child had subscribed to. No other thread is here, and no handler either.
static void forget_parent(void) {
  mutex = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
  for (int signal = 1; signal < _NSIG; signal++) {
    struct line *line = &lines[signal];
    for (struct entry *entry = atomic_load(&line->first); entry; entry = entry->next) {
      atomic_store(&entry->eventfd, -1);
      atomic_store(&entry->busy, 0);
      entry->number = 0;
    }
    if (line->count > 0) restore(signal);
    line->count = 0;
  }
}

// Sleeps for a moment. A real-time thread that yields keeps its processor from all that have a lower priority.
static void let_others_run(void) {
  struct timespec moment = {0, 50000};
  nanosleep(&moment, NULL);
}

static void lock(void) {
  pid_t process = getpid();
  pid_t seen = atomic_load(&owner);
  while (seen != process) {
    if (seen == -process) {
      let_others_run();
      seen = atomic_load(&owner);
    } else if (atomic_compare_exchange_weak(&owner, &seen, -process)) {
      if (seen != 0) forget_parent();
      atomic_store(&owner, process);
      break;
    }
  }
  pthread_mutex_lock(&mutex);
}

static void unlock(void) { pthread_mutex_unlock(&mutex); }

static bool is_signal(int signal) { return signal > 0 && signal < _NSIG; }

// A free entry of the line; NULL if there is no memory for one.
static struct entry *free_entry(struct line *line) {
  struct entry *entry = atomic_load(&line->first);
  while (entry && entry->number) entry = entry->next;
  if (entry) return entry;
  entry = calloc(1, sizeof *entry);
  if (!entry) return NULL;
  atomic_store(&entry->eventfd, -1);
  entry->next = atomic_load(&line->first);
  atomic_store(&line->first, entry);
  return entry;
}

// Frees an entry, and waits for handlers that have seen its eventfd.
static void release(struct entry *entry) {
  atomic_store(&entry->eventfd, -1);
  while (atomic_load(&entry->busy)) let_others_run();
  entry->number = 0;
}

int64_t rondo_signal_subscribe(int signal, int eventfd) {
  struct stat status;
  if (!is_signal(signal)) return -EINVAL;
  if (fstat(eventfd, &status)) return -errno;
  lock();
  struct line *line = &lines[signal];
  struct entry *entry = free_entry(line);
  if (!entry) return unlock(), -ENOMEM;
  entry->device = status.st_dev;
  entry->inode = status.st_ino;
  entry->number = ++last_number;
  atomic_store(&entry->sender, 0);
  atomic_store(&entry->date, 0);
  atomic_store(&entry->end, INT64_MAX);
  // What is there first hears of a signal that comes in between.
  struct sigaction seen;
  int error = sigaction(signal, NULL, &seen) ? -errno : 0;
  if (!error && !is_ours(&seen) && !line->is_buried && line->count == 0) {
    atomic_store(&line->base_takes_info, seen.sa_flags & SA_SIGINFO);
    atomic_store(&line->base, seen.sa_flags & SA_SIGINFO ? (void *)seen.sa_sigaction : (void *)seen.sa_handler);
  }
  atomic_store(&entry->eventfd, eventfd);
  if (!error) error = install(signal, &seen);
  if (error) {
    release(entry);
    return unlock(), error;
  }
  if (!is_ours(&seen)) {
    if (line->count > 0) line->is_buried = true;
    line->previous = seen;
  }
  line->count++;
  int64_t number = entry->number;
  return unlock(), number;
}

static struct entry *find(int signal, int64_t number) {
  struct entry *entry = atomic_load(&lines[signal].first);
  while (entry && entry->number != number) entry = entry->next;
  return entry;
}

void rondo_signal_unsubscribe(int signal, int64_t number) {
  if (!is_signal(signal) || number <= 0) return;
  lock();
  struct entry *entry = find(signal, number);
  if (entry) {
    if (--lines[signal].count == 0) restore(signal);
    release(entry);
  }
  unlock();
}

void rondo_signal_end(int signal, int64_t number, int64_t date) {
  if (!is_signal(signal) || number <= 0) return;
  lock();
  struct entry *entry = find(signal, number);
  if (entry) atomic_store(&entry->end, date);
  unlock();
}

struct rondo_signal_origin rondo_signal_last(int signal, int64_t number) {
  struct rondo_signal_origin last = {0, 0};
  if (!is_signal(signal) || number <= 0) return last;
  lock();
  struct entry *entry = find(signal, number);
  if (entry) last = (struct rondo_signal_origin){atomic_load(&entry->sender), atomic_load(&entry->date)};
  return unlock(), last;
}

int rondo_signal_is_ignored(int signal) {
  struct sigaction seen;
  if (!is_signal(signal)) return 0;
  lock();
  int is_known = !sigaction(signal, NULL, &seen);
  bool is_ignored =
      is_known && (is_ours(&seen) ? atomic_load(&lines[signal].base) == (void *)SIG_IGN : seen.sa_handler == SIG_IGN);
  return unlock(), is_ignored;
}

int rondo_signal_ignore(int signal) {
  if (!is_signal(signal)) return -EINVAL;
  struct sigaction action = {.sa_handler = SIG_IGN};
  lock();
  struct line *line = &lines[signal];
  int error = 0;
  if (line->count > 0) {
    line->previous = action;
    atomic_store(&line->base, (void *)SIG_IGN);
  } else if (sigaction(signal, &action, NULL)) {
    error = -errno;
  }
  return unlock(), error;
}

void rondo_signal_unblock(int signal) {
  sigset_t set;
  sigemptyset(&set);
  if (!sigaddset(&set, signal)) pthread_sigmask(SIG_UNBLOCK, &set, NULL);
}

int rondo_first_real_time_signal(void) { return SIGRTMIN; }
int rondo_last_real_time_signal(void) { return SIGRTMAX; }
