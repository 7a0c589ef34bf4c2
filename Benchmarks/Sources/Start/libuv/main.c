#include <start.h>

#if __has_include(<uv.h>)

#include <uv.h>

static void called(uv_timer_t *timer) {
  (void)timer;
  start_reached();
}

int main(void) {
  uv_loop_t loop;
  uv_timer_t timer;
  uv_loop_init(&loop);
  uv_timer_init(&loop, &timer);
  uv_timer_start(&timer, called, 0, 0);
  return uv_run(&loop, UV_RUN_DEFAULT);
}

#else

int main(void) {
  return start_absent;
}

#endif
