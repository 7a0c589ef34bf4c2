#define _GNU_SOURCE
#include "sampling.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

// How far the one request has come: its number in the upper bits, one of these in the lowest two.
enum { idle = 0, requested = 1, stopped = 2 };
static uint32_t state;
static struct rondo_registers sampled;
static pid_t wanted;

// The handlers that the signal met before, the earliest first: each took the handler's place after the last, and may call it as what was
// there before. *watcher's thread*, published by the count
enum { layer_limit = 8 };
static struct sigaction layers[layer_limit];
// *atomic*
static uint32_t layer_count;
// *the thread's own* How many of them are being called, the latest first. A handler may read it: it is there from the start.
static __thread uint32_t called_layers __attribute__((tls_model("initial-exec")));

static void futex_wait(uint32_t expected, long milliseconds) {
  struct timespec limit = {milliseconds / 1000, milliseconds % 1000 * 1000000};
  syscall(SYS_futex, &state, FUTEX_WAIT_PRIVATE, expected, &limit, NULL, 0);
}

static void futex_wake(void) { syscall(SYS_futex, &state, FUTEX_WAKE_PRIVATE, 0x7fffffff, NULL, NULL, 0); }

static int64_t milliseconds_now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (int64_t)time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

static void read_registers(struct rondo_registers *registers, const ucontext_t *context) {
#if defined(__x86_64__)
  const greg_t *values = context->uc_mcontext.gregs;
  *registers = (struct rondo_registers){(uint64_t)values[REG_RIP], (uint64_t)values[REG_RSP], (uint64_t)values[REG_RBP], 0};
#elif defined(__aarch64__)
  const mcontext_t *values = &context->uc_mcontext;
  *registers = (struct rondo_registers){values->pc, values->sp, values->regs[29], values->regs[30]};
#else
  *registers = (struct rondo_registers){0, 0, 0, 0};
#endif
}

// A signal that is not ours: for the handler that came last, which may pass it on to ours, and so to the one before.
static void pass_on(int number, siginfo_t *info, void *context) {
  uint32_t count = __atomic_load_n(&layer_count, __ATOMIC_ACQUIRE);
  if (called_layers >= count) return;
  const struct sigaction *layer = &layers[count - 1 - called_layers];
  called_layers++;
  if (layer->sa_flags & SA_SIGINFO) {
    layer->sa_sigaction(number, info, context);
  } else {
    layer->sa_handler(number);
  }
  called_layers--;
}

// On the stopped thread. System calls and atomics, nothing else.
static void take_sample(int number, siginfo_t *info, void *context) {
  int error = errno;
  uint32_t request = (uint32_t)(uintptr_t)info->si_value.sival_ptr;
  bool is_ours = info->si_code == SI_QUEUE && info->si_pid == getpid() && (request & 3) == requested;
  if (is_ours) {
    // One that was given up, or was meant for another thread, does nothing.
    if (__atomic_load_n(&state, __ATOMIC_ACQUIRE) == request && wanted == syscall(SYS_gettid)) {
      read_registers(&sampled, context);
      uint32_t expected = request;
      if (__atomic_compare_exchange_n(
              &state, &expected, request + 1, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
        futex_wake();
        int64_t end = milliseconds_now() + 200;
        for (int64_t now = milliseconds_now(); now < end; now = milliseconds_now()) {
          if (__atomic_load_n(&state, __ATOMIC_ACQUIRE) != request + 1) break;
          futex_wait(request + 1, end - now);
        }
      }
    }
  } else {
    pass_on(number, info, context);
  }
  errno = error;
}

// Notes a handler that is to hear its own. False if there is no room.
static bool add_layer(const struct sigaction *action) {
  if (!(action->sa_flags & SA_SIGINFO) && (action->sa_handler == SIG_DFL || action->sa_handler == SIG_IGN)) {
    // The program has done with its handlers, or never had one.
    __atomic_store_n(&layer_count, 0, __ATOMIC_RELEASE);
    return true;
  }
  // One that comes again and again is called once.
  for (uint32_t index = 0; index < layer_count; index++) {
    if (layers[index].sa_sigaction == action->sa_sigaction) return true;
  }
  if (layer_count == layer_limit) return false;
  layers[layer_count] = *action;
  __atomic_store_n(&layer_count, layer_count + 1, __ATOMIC_RELEASE);
  return true;
}

// Other code may have taken the signal since the last time.
static int install(void) {
  struct sigaction present;
  if (sigaction(rondo_sample_signal, NULL, &present)) return errno;
  if (present.sa_flags & SA_SIGINFO && present.sa_sigaction == take_sample) return 0;
  if (!add_layer(&present)) return EBUSY;
  struct sigaction action = {.sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK};
  action.sa_sigaction = take_sample;
  sigfillset(&action.sa_mask);
  return sigaction(rondo_sample_signal, &action, NULL) ? errno : 0;
}

int rondo_stop_thread(pid_t thread, struct rondo_registers *registers) {
  int error = install();
  if (error) return error;
  uint32_t request = ((__atomic_load_n(&state, __ATOMIC_RELAXED) >> 2) + 1) << 2 | requested;
  wanted = thread;
  __atomic_store_n(&state, request, __ATOMIC_RELEASE);
  siginfo_t info;
  memset(&info, 0, sizeof info);
  info.si_signo = rondo_sample_signal;
  info.si_code = SI_QUEUE;
  info.si_pid = getpid();
  info.si_uid = getuid();
  info.si_value.sival_ptr = (void *)(uintptr_t)request;
  if (syscall(SYS_rt_tgsigqueueinfo, getpid(), thread, rondo_sample_signal, &info)) {
    error = errno;
    rondo_release_thread();
    return error;
  }
  int64_t end = milliseconds_now() + 200;
  for (int64_t now = milliseconds_now(); now < end; now = milliseconds_now()) {
    if (__atomic_load_n(&state, __ATOMIC_ACQUIRE) == request + 1) {
      *registers = sampled;
      return 0;
    }
    futex_wait(request, end - now);
  }
  uint32_t expected = request;
  if (__atomic_compare_exchange_n(&state, &expected, request - 1, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
    return ETIMEDOUT;
  }
  *registers = sampled;
  return 0;
}

void rondo_release_thread(void) {
  uint32_t present = __atomic_load_n(&state, __ATOMIC_RELAXED);
  __atomic_store_n(&state, present & ~3u, __ATOMIC_RELEASE);
  futex_wake();
}

size_t rondo_read_memory(uint64_t address, void *buffer, size_t length) {
  struct iovec own = {buffer, length}, other = {(void *)(uintptr_t)address, length};
  ssize_t count = process_vm_readv(getpid(), &own, 1, &other, 1, 0);
  if (count >= 0) return (size_t)count;
  if (errno == EFAULT) return 0;
  // A sandbox may forbid that call, and leave this door open.
  int memory = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
  if (memory < 0) return 0;
  count = pread(memory, buffer, length, (off_t)address);
  close(memory);
  return count < 0 ? 0 : (size_t)count;
}

ssize_t rondo_read_file(const char *path, void *buffer, size_t limit) {
  int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return -errno;
  size_t length = 0;
  while (length < limit) {
    ssize_t count = read(file, (char *)buffer + length, limit - length);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && length == 0) {
      int error = errno;
      close(file);
      return -error;
    }
    if (count <= 0) break;
    length += (size_t)count;
  }
  close(file);
  return (ssize_t)length;
}

const char *rondo_call_name(long number, int *is_descriptor) {
  *is_descriptor = 1;
  switch (number) {
  case SYS_read: return "read";
  case SYS_write: return "write";
  case SYS_readv: return "readv";
  case SYS_writev: return "writev";
  case SYS_pread64: return "pread";
  case SYS_pwrite64: return "pwrite";
  case SYS_recvfrom: return "recvfrom";
  case SYS_recvmsg: return "recvmsg";
  case SYS_sendto: return "sendto";
  case SYS_sendmsg: return "sendmsg";
  case SYS_connect: return "connect";
  case SYS_accept: return "accept";
  case SYS_accept4: return "accept4";
  case SYS_fsync: return "fsync";
  case SYS_fdatasync: return "fdatasync";
  case SYS_ftruncate: return "ftruncate";
  case SYS_fallocate: return "fallocate";
  case SYS_flock: return "flock";
  case SYS_fcntl: return "fcntl";
  case SYS_ioctl: return "ioctl";
  case SYS_sendfile: return "sendfile";
  case SYS_getdents64: return "getdents64";
  case SYS_epoll_pwait: return "epoll_pwait";
  case SYS_close: return "close";
#ifdef SYS_epoll_wait
  case SYS_epoll_wait: return "epoll_wait";
#endif
  }
  *is_descriptor = 0;
  switch (number) {
  case SYS_nanosleep: return "nanosleep";
  case SYS_clock_nanosleep: return "clock_nanosleep";
  case SYS_futex: return "futex";
  case SYS_ppoll: return "ppoll";
  case SYS_pselect6: return "pselect";
  case SYS_wait4: return "wait4";
  case SYS_waitid: return "waitid";
  case SYS_openat: return "openat";
  case SYS_msync: return "msync";
  case SYS_unlinkat: return "unlinkat";
  case SYS_rt_sigtimedwait: return "sigtimedwait";
  case SYS_restart_syscall: return "restart_syscall";
#ifdef SYS_poll
  case SYS_poll: return "poll";
  case SYS_select: return "select";
  case SYS_pause: return "pause";
  case SYS_open: return "open";
#endif
  }
  return NULL;
}

void rondo_block_signals(void) {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, NULL);
}
