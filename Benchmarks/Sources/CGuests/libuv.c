#include "guests.h"

#include <stddef.h>

#if __has_include(<uv.h>)

#include <stdlib.h>
#include <uv.h>

// A handle, and what it calls.
struct handle {
  union {
    uv_handle_t any;
    uv_timer_t timer;
    uv_poll_t poll;
    uv_async_t async;
    uv_idle_t idle;
  } uv;
  guest_call call;
  void *argument;
  guest_call closed;
  void *closed_argument;
};

static struct handle *handle_new(guest_call call, void *argument) {
  struct handle *handle = calloc(1, sizeof *handle);
  handle->call = call;
  handle->argument = argument;
  return handle;
}

static void call(void *opaque) {
  struct handle *handle = opaque;
  handle->call(handle->argument);
}

static void on_timer(uv_timer_t *timer) { call(timer); }
static void on_async(uv_async_t *async) { call(async); }
static void on_idle(uv_idle_t *idle) { call(idle); }
static void on_poll(uv_poll_t *poll, int status, int events) {
  (void)status;
  (void)events;
  call(poll);
}

void *guest_uv_new(void) {
  uv_loop_t *loop = malloc(sizeof *loop);
  uv_loop_init(loop);
  return loop;
}

int guest_uv_free(void *loop) {
  uv_run(loop, UV_RUN_DEFAULT);
  int error = uv_loop_close(loop);
  if (error == 0) free(loop);
  return error;
}

void *guest_uv_timer(void *loop, int milliseconds, int repeat, guest_call call, void *argument) {
  struct handle *handle = handle_new(call, argument);
  uv_timer_init(loop, &handle->uv.timer);
  uv_timer_start(&handle->uv.timer, on_timer, (uint64_t)milliseconds, (uint64_t)repeat);
  return handle;
}

void *guest_uv_poll(void *loop, int descriptor, guest_call call, void *argument) {
  struct handle *handle = handle_new(call, argument);
  uv_poll_init(loop, &handle->uv.poll, descriptor);
  uv_poll_start(&handle->uv.poll, UV_READABLE, on_poll);
  return handle;
}

void *guest_uv_async(void *loop, guest_call call, void *argument) {
  struct handle *handle = handle_new(call, argument);
  uv_async_init(loop, &handle->uv.async, on_async);
  return handle;
}

void *guest_uv_idle(void *loop, guest_call call, void *argument) {
  struct handle *handle = handle_new(call, argument);
  uv_idle_init(loop, &handle->uv.idle);
  uv_idle_start(&handle->uv.idle, on_idle);
  return handle;
}

void guest_uv_send(void *async) { uv_async_send(async); }

void guest_uv_unref(void *handle) { uv_unref(handle); }

static void on_closed(uv_handle_t *opaque) {
  struct handle *handle = (struct handle *)opaque;
  if (handle->closed) handle->closed(handle->closed_argument);
  free(handle);
}

void guest_uv_close(void *opaque, guest_call closed, void *argument) {
  struct handle *handle = opaque;
  handle->closed = closed;
  handle->closed_argument = argument;
  uv_close(&handle->uv.any, on_closed);
}

struct work {
  uv_work_t uv;
  guest_call work;
  guest_call done;
  void *argument;
};

static void on_work(uv_work_t *opaque) {
  struct work *work = (struct work *)opaque;
  work->work(work->argument);
}

static void on_done(uv_work_t *opaque, int status) {
  (void)status;
  struct work *work = (struct work *)opaque;
  work->done(work->argument);
  free(work);
}

void guest_uv_work(void *loop, guest_call do_work, guest_call done, void *argument) {
  struct work *work = calloc(1, sizeof *work);
  work->work = do_work;
  work->done = done;
  work->argument = argument;
  uv_queue_work(loop, &work->uv, on_work, on_done);
}

void guest_uv_stop(void *loop) { uv_stop(loop); }

#endif
