#include "guest_glib.h"

#ifdef RONDO_GLIB

#include <errno.h>
#include <glib.h>
#include <poll.h>
#include <stddef.h>
#include <sys/epoll.h>

_Static_assert(sizeof(GPollFD) == sizeof(struct pollfd), "GPollFD is a struct pollfd");
_Static_assert(offsetof(GPollFD, events) == offsetof(struct pollfd, events), "GPollFD is a struct pollfd");
_Static_assert(offsetof(GPollFD, revents) == offsetof(struct pollfd, revents), "GPollFD is a struct pollfd");
_Static_assert(G_IO_IN == POLLIN && G_IO_PRI == POLLPRI && G_IO_OUT == POLLOUT, "conditions are those of poll");

void *rondo_glib_acquire(void *context) {
  GMainContext *acquired = context ? g_main_context_ref(context) : g_main_context_ref_thread_default();
  if (g_main_context_acquire(acquired)) return acquired;
  g_main_context_unref(acquired);
  return NULL;
}

void rondo_glib_release(void *context) {
  g_main_context_release(context);
  g_main_context_unref(context);
}

int rondo_glib_is_owner(void *context) { return g_main_context_is_owner(context); }

int rondo_glib_prepare(void *context) {
  gint priority = G_MAXINT;
  g_main_context_prepare(context, &priority);
  return priority;
}

int rondo_glib_query(void *context, int priority, int *timeout, struct pollfd *descriptors, int room) {
  return g_main_context_query(context, priority, timeout, (GPollFD *)descriptors, room);
}

void rondo_glib_iterate(void *context) { g_main_context_iteration(context, FALSE); }

int rondo_pollset_new(void) { return epoll_create1(EPOLL_CLOEXEC); }

static int control(int set, int operation, int descriptor, unsigned events) {
  struct epoll_event event = {.events = events | EPOLLONESHOT, .data = {.fd = descriptor}};
  return epoll_ctl(set, operation, descriptor, &event) ? errno : 0;
}

int rondo_pollset_add(int set, int descriptor, unsigned events) {
  return control(set, EPOLL_CTL_ADD, descriptor, events);
}

int rondo_pollset_change(int set, int descriptor, unsigned events) {
  return control(set, EPOLL_CTL_MOD, descriptor, events);
}

int rondo_pollset_remove(int set, int descriptor) { return control(set, EPOLL_CTL_DEL, descriptor, 0); }

void rondo_pollset_silence(int set) {
  struct epoll_event events[16];
  epoll_wait(set, events, 16, 0);
}

#endif
