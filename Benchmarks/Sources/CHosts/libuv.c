// libuv as a host: a uv_poll of the guest's descriptor.

#include "hosts.h"

#if __has_include(<uv.h>)

#include <uv.h>

typedef struct {
  uv_loop_t loop;
  uv_poll_t poll;
  uv_timer_t timer;
  host_turn turn;
  host_turn tick;
  void *context;
} uv_host;

static void on_readable(uv_poll_t *poll, int status, int events) {
  (void)status;
  (void)events;
  uv_host *host = poll->data;
  if (host->turn(host->context) == 0) return;
  uv_close((uv_handle_t *)poll, NULL);
  uv_close((uv_handle_t *)&host->timer, NULL);
}

static void on_tick(uv_timer_t *timer) {
  uv_host *host = timer->data;
  if (host->tick(host->context) != 0) uv_timer_stop(timer);
}

int host_libuv(int descriptor, host_turn turn, host_turn tick, void *context) {
  uv_host host = {.turn = turn, .tick = tick, .context = context};
  uv_loop_init(&host.loop);
  uv_poll_init(&host.loop, &host.poll, descriptor);
  uv_timer_init(&host.loop, &host.timer);
  host.poll.data = &host;
  host.timer.data = &host;
  uv_poll_start(&host.poll, UV_READABLE, on_readable);
  uv_timer_start(&host.timer, on_tick, 10, 10);
  uv_run(&host.loop, UV_RUN_DEFAULT);
  uv_loop_close(&host.loop);
  return 0;
}

#else

int host_libuv(int descriptor, host_turn turn, host_turn tick, void *context) {
  (void)descriptor, (void)turn, (void)tick, (void)context;
  return -1;
}

#endif
