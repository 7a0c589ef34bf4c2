// libuv's loops as guests of a loop. libuv's own headers stay out of Swift's sight, where a program may have them under
// another module's name.
#pragma once

// The loop, or the default one.
void *rondo_uv_loop(void *loop);

// The descriptor it waits by: an epoll set. See uv_backend_fd.
int rondo_uv_descriptor(void *loop);

// How long it would wait, in milliseconds; less than 0 for no limit. See uv_backend_timeout.
int rondo_uv_timeout(void *loop);

// Whether it has anything to wait for. See uv_loop_alive.
int rondo_uv_is_alive(void *loop);

// Serves what is due and ready. Calls out. See uv_run, UV_RUN_NOWAIT.
void rondo_uv_run(void *loop);
