// Foreign loops, and libraries on libevent, as guests of a Rondo loop: what the tests do with them. What a library that is
// not installed would do returns NULL or -1.
#pragma once

#include <stddef.h>

struct event_base;

typedef void (*guest_call)(void *context);

// Whether to go on: 0 ends what calls.
typedef int (*guest_again)(void *context);

// MARK: - GLib

// A context of its own; freed by guest_glib_free.
void *guest_glib_new(void);
void guest_glib_free(void *context);
// Each attaches a source from any thread, and returns it with a reference for guest_glib_destroy.
void *guest_glib_timeout(void *context, int milliseconds, int priority, guest_again call, void *argument);
void *guest_glib_idle(void *context, int priority, guest_again call, void *argument);
// `conditions` are poll(2)'s. `call` is told those that hold.
void *guest_glib_watch(void *context, int descriptor, int conditions, int priority,
                       int (*call)(void *argument, int conditions), void *argument);
void guest_glib_destroy(void *source);
// g_main_context_invoke.
void guest_glib_invoke(void *context, guest_again call, void *argument);
int guest_glib_acquire(void *context);
void guest_glib_release(void *context);
// g_main_context_iteration that may sleep.
void guest_glib_iterate(void *context);

// MARK: - libuv

// A loop; guest_uv_free finishes what is closing, and returns what uv_loop_close does.
void *guest_uv_new(void);
int guest_uv_free(void *loop);
// Handles, each freed once closed.
void *guest_uv_timer(void *loop, int milliseconds, int repeat, guest_call call, void *argument);
void *guest_uv_poll(void *loop, int descriptor, guest_call call, void *argument);
void *guest_uv_async(void *loop, guest_call call, void *argument);
void *guest_uv_idle(void *loop, guest_call call, void *argument);
void guest_uv_send(void *async);
void guest_uv_unref(void *handle);
// `closed` is called by the loop, unless it is NULL.
void guest_uv_close(void *handle, guest_call closed, void *argument);
// Work on a thread of libuv's pool: `done` is called by the loop.
void guest_uv_work(void *loop, guest_call work, guest_call done, void *argument);
void guest_uv_stop(void *loop);

// MARK: - sd-event

// An event loop of systemd's; NULL if it is not installed.
void *guest_sd_new(void);
void guest_sd_free(void *event);
int guest_sd_descriptor(void *event);
// Whether something is to be dispatched at once.
int guest_sd_prepare(void *event);
void guest_sd_dispatch(void *event);
// A timer that calls once, freed with the loop.
void guest_sd_timer(void *event, int milliseconds, guest_call call, void *argument);

// MARK: - Libraries on libevent

// A TLS server that echoes and a client that trusts it alone, on bufferevents of the base: so many words there and back.
// `call` is told how many came back, or -1 if the handshake failed; all is freed by then. -1 without OpenSSL.
int guest_tls(struct event_base *base, int words, void (*call)(void *context, int words), void *context);

// An HTTP server: /N is answered with N bytes, /slow after 20 ms.
struct guest_http;
struct guest_http *guest_http_new(struct event_base *base, int *port);
void guest_http_free(struct guest_http *server);

// MARK: - libcurl

// What is wanted of a descriptor: 1 to read, 2 to write. 0 for nothing any more.
typedef void (*guest_curl_socket)(void *context, int descriptor, int wanted);
// How long to wait, in milliseconds; less than 0 for ever.
typedef void (*guest_curl_timer)(void *context, long milliseconds);
// A transfer is over: its name, CURLcode and HTTP status, and how many bytes came.
typedef void (*guest_curl_over)(void *context, int name, int error, long status, long bytes);

void *guest_curl_new(guest_curl_socket socket, guest_curl_timer timer, guest_curl_over over, void *context);
// Cuts short what is under way. What is freed tells the callbacks above.
void guest_curl_free(void *multi);
void guest_curl_get(void *multi, int name, const char *url);
// The descriptor is ready: 1 to read, 2 to write; or -1: the time is over.
void guest_curl_act(void *multi, int descriptor, int ready);

// MARK: - hiredis

// A client of the Redis server at a Unix socket, which sends so many commands, never more than `depth` at a time. `over` is
// told at the end how many replies came, each after the one before it. NULL if hiredis is not installed.
typedef void (*guest_redis_over)(void *context, long replies);
void *guest_redis_new(const char *path, long count, long depth, guest_redis_over over, void *argument);
// Each begins, by the adapter that hiredis has for that loop: 0, or -1; the source, for guest_glib_destroy, or NULL.
int guest_redis_on_libevent(void *client, struct event_base *base);
void *guest_redis_on_glib(void *client, void *context);
