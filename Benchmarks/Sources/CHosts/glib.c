// GLib's main loop as a host: a GSource of the guest's descriptor.

#include "hosts.h"

#if __has_include(<glib.h>)

#include <glib-unix.h>
#include <glib.h>

typedef struct {
  GMainLoop *loop;
  host_turn turn;
  host_turn tick;
  void *context;
} glib_host;

static gboolean on_readable(gint descriptor, GIOCondition condition, gpointer opaque) {
  (void)descriptor;
  (void)condition;
  glib_host *host = opaque;
  if (host->turn(host->context) == 0) return G_SOURCE_CONTINUE;
  g_main_loop_quit(host->loop);
  return G_SOURCE_REMOVE;
}

static gboolean on_tick(gpointer opaque) {
  glib_host *host = opaque;
  return host->tick(host->context) == 0 ? G_SOURCE_CONTINUE : G_SOURCE_REMOVE;
}

int host_glib(int descriptor, host_turn turn, host_turn tick, void *context) {
  glib_host host = {g_main_loop_new(NULL, FALSE), turn, tick, context};
  g_unix_fd_add(descriptor, G_IO_IN, on_readable, &host);
  g_timeout_add(10, on_tick, &host);
  g_main_loop_run(host.loop);
  g_main_loop_unref(host.loop);
  return 0;
}

#else

int host_glib(int descriptor, host_turn turn, host_turn tick, void *context) {
  (void)descriptor, (void)turn, (void)tick, (void)context;
  return -1;
}

#endif
