#include <start.h>

#if __has_include(<glib.h>)

#include <glib.h>

static gboolean called(gpointer context) {
  (void)context;
  start_reached();
  return G_SOURCE_REMOVE;
}

int main(void) {
  g_timeout_add(0, called, NULL);
  g_main_loop_run(g_main_loop_new(NULL, FALSE));
  return 1;
}

#else

int main(void) {
  return start_absent;
}

#endif
