#include <start.h>

#if __has_include(<systemd/sd-event.h>)

#include <systemd/sd-event.h>

static int called(sd_event_source *source, uint64_t at, void *context) {
  (void)source, (void)at, (void)context;
  start_reached();
  return 0;
}

int main(void) {
  sd_event *event = NULL;
  sd_event_new(&event);
  sd_event_add_time(event, NULL, CLOCK_MONOTONIC, 0, 1, called, NULL);
  return sd_event_loop(event);
}

#else

int main(void) {
  return start_absent;
}

#endif
