// sd-event as a host: an I/O source of the guest's descriptor.

#include "hosts.h"

#if __has_include(<systemd/sd-event.h>)

#include <stdint.h>
#include <sys/epoll.h>
#include <systemd/sd-event.h>
#include <time.h>

typedef struct {
  sd_event *event;
  host_turn turn;
  host_turn tick;
  void *context;
} sd_host;

static int on_readable(sd_event_source *source, int descriptor, uint32_t events, void *opaque) {
  (void)source;
  (void)descriptor;
  (void)events;
  sd_host *host = opaque;
  return host->turn(host->context) == 0 ? 0 : sd_event_exit(host->event, 0);
}

static int on_tick(sd_event_source *source, uint64_t date, void *opaque) {
  sd_host *host = opaque;
  if (host->tick(host->context) != 0) return sd_event_source_set_enabled(source, SD_EVENT_OFF);
  sd_event_source_set_time(source, date + 10000);
  return sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
}

int host_sd_event(int descriptor, host_turn turn, host_turn tick, void *context) {
  sd_host host = {.turn = turn, .tick = tick, .context = context};
  if (sd_event_new(&host.event) < 0) return -1;
  uint64_t now = 0;
  sd_event_now(host.event, CLOCK_MONOTONIC, &now);
  sd_event_add_io(host.event, NULL, descriptor, EPOLLIN, on_readable, &host);
  // One microsecond: 0 would mean sd-event's own accuracy, a quarter of a second.
  sd_event_add_time(host.event, NULL, CLOCK_MONOTONIC, now + 10000, 1, on_tick, &host);
  sd_event_loop(host.event);
  sd_event_unref(host.event);
  return 0;
}

#else

int host_sd_event(int descriptor, host_turn turn, host_turn tick, void *context) {
  (void)descriptor, (void)turn, (void)tick, (void)context;
  return -1;
}

#endif
