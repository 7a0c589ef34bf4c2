#include "guest_libuv.h"

#ifdef RONDO_LIBUV

#include <uv.h>

void *rondo_uv_loop(void *loop) { return loop ? loop : uv_default_loop(); }

int rondo_uv_descriptor(void *loop) { return uv_backend_fd(loop); }

int rondo_uv_timeout(void *loop) {
#if UV_VERSION_HEX < 0x012d00
  // What was started and is not in the epoll set yet: before 1.44 its timeout does not tell.
  uv_loop_t *known = loop;
  if (known->watcher_queue[0] != (void *)known->watcher_queue) return 0;
#endif
  // The timeout counts from what libuv takes for now, which is when it was dispatched last.
  uv_update_time(loop);
  return uv_backend_timeout(loop);
}

int rondo_uv_is_alive(void *loop) { return uv_loop_alive(loop); }

void rondo_uv_run(void *loop) { uv_run(loop, UV_RUN_NOWAIT); }

#endif
