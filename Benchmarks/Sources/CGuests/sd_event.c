#include "guests.h"

#include <stddef.h>

#if __has_include(<systemd/sd-event.h>)

#include <stdint.h>
#include <stdlib.h>
#include <systemd/sd-event.h>
#include <time.h>

struct timer {
  guest_call call;
  void *argument;
};

static int on_timer(sd_event_source *source, uint64_t usec, void *opaque) {
  (void)source;
  (void)usec;
  struct timer *timer = opaque;
  timer->call(timer->argument);
  return 0;
}

void *guest_sd_new(void) {
  sd_event *event = NULL;
  return sd_event_new(&event) < 0 ? NULL : event;
}

void guest_sd_free(void *event) { sd_event_unref(event); }

int guest_sd_descriptor(void *event) { return sd_event_get_fd(event); }

int guest_sd_prepare(void *event) {
  // Armed by the last time it was asked: it has to look before it can be asked again.
  if (sd_event_get_state(event) == SD_EVENT_ARMED && sd_event_wait(event, 0) > 0) return 1;
  return sd_event_get_state(event) == SD_EVENT_PENDING || sd_event_prepare(event) > 0;
}

void guest_sd_dispatch(void *event) {
  if (sd_event_get_state(event) == SD_EVENT_INITIAL && sd_event_prepare(event) < 0) return;
  if (sd_event_get_state(event) == SD_EVENT_ARMED && sd_event_wait(event, 0) <= 0) return;
  sd_event_dispatch(event);
}

void guest_sd_timer(void *event, int milliseconds, guest_call call, void *argument) {
  struct timer *timer = calloc(1, sizeof *timer);
  timer->call = call;
  timer->argument = argument;
  sd_event_source *source = NULL;
  uint64_t now;
  sd_event_now(event, CLOCK_MONOTONIC, &now);
  sd_event_add_time(event, &source, CLOCK_MONOTONIC, now + (uint64_t)milliseconds * 1000, 1, on_timer, timer);
  sd_event_source_set_destroy_callback(source, free);
  sd_event_source_set_floating(source, 1);
  sd_event_source_unref(source);
}

#else

void *guest_sd_new(void) { return NULL; }

void guest_sd_free(void *event) { (void)event; }

int guest_sd_descriptor(void *event) {
  (void)event;
  return -1;
}

int guest_sd_prepare(void *event) {
  (void)event;
  return 0;
}

void guest_sd_dispatch(void *event) { (void)event; }

void guest_sd_timer(void *event, int milliseconds, guest_call call, void *argument) {
  (void)event, (void)milliseconds, (void)call, (void)argument;
}

#endif
