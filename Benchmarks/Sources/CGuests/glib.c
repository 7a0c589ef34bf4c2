#include "guests.h"

#include <stddef.h>

#if __has_include(<glib.h>)

#include <glib-unix.h>
#include <glib.h>

struct call {
  guest_again again;
  int (*watch)(void *argument, int conditions);
  void *argument;
};

static struct call *call_new(guest_again again, void *argument) {
  struct call *call = g_new0(struct call, 1);
  call->again = again;
  call->argument = argument;
  return call;
}

static gboolean on_call(gpointer opaque) {
  struct call *call = opaque;
  return call->again(call->argument) != 0;
}

static gboolean on_ready(gint descriptor, GIOCondition condition, gpointer opaque) {
  (void)descriptor;
  struct call *call = opaque;
  return call->watch(call->argument, (int)condition) != 0;
}

void *guest_glib_new(void) { return g_main_context_new(); }

void guest_glib_free(void *context) { g_main_context_unref(context); }

static void *attach(GSource *source, void *context, int priority) {
  g_source_set_priority(source, priority);
  g_source_attach(source, context);
  return source;
}

void *guest_glib_timeout(void *context, int milliseconds, int priority, guest_again again, void *argument) {
  GSource *source = g_timeout_source_new((guint)milliseconds);
  g_source_set_callback(source, on_call, call_new(again, argument), g_free);
  return attach(source, context, priority);
}

void *guest_glib_idle(void *context, int priority, guest_again again, void *argument) {
  GSource *source = g_idle_source_new();
  g_source_set_callback(source, on_call, call_new(again, argument), g_free);
  return attach(source, context, priority);
}

void *guest_glib_watch(void *context, int descriptor, int conditions, int priority,
                       int (*watch)(void *argument, int conditions), void *argument) {
  GSource *source = g_unix_fd_source_new(descriptor, (GIOCondition)conditions);
  struct call *call = call_new(NULL, argument);
  call->watch = watch;
  g_source_set_callback(source, G_SOURCE_FUNC(on_ready), call, g_free);
  return attach(source, context, priority);
}

void guest_glib_destroy(void *source) {
  g_source_destroy(source);
  g_source_unref(source);
}

void guest_glib_invoke(void *context, guest_again again, void *argument) {
  g_main_context_invoke_full(context, G_PRIORITY_DEFAULT, on_call, call_new(again, argument), g_free);
}

int guest_glib_acquire(void *context) { return g_main_context_acquire(context); }

void guest_glib_release(void *context) { g_main_context_release(context); }

void guest_glib_iterate(void *context) { g_main_context_iteration(context, TRUE); }

#endif
