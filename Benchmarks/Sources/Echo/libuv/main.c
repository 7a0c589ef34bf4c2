#include <echo.h>

#if __has_include(<uv.h>)

#include <uv.h>

static char room[echo_room];

static void lend(uv_handle_t *handle, size_t suggested, uv_buf_t *buffer) {
  (void)handle, (void)suggested;
  *buffer = uv_buf_init(room, echo_room);
}

static void ended(uv_handle_t *handle) {
  free(handle);
}

static void sent(uv_write_t *request, int status) {
  (void)status;
  free(request->data);
  free(request);
}

static void received(uv_stream_t *connection, ssize_t count, const uv_buf_t *buffer) {
  if (count < 0) return uv_close((uv_handle_t *)connection, ended);
  uv_buf_t rest = uv_buf_init(buffer->base, (unsigned)count);
  int done = uv_try_write(connection, &rest, 1);
  if (done < 0) done = 0;
  if (done == count) return;
  // Its room is lent to the next one.
  uv_write_t *request = malloc(sizeof *request);
  request->data = malloc((size_t)(count - done));
  for (ssize_t index = done; index < count; index++) ((char *)request->data)[index - done] = buffer->base[index];
  rest = uv_buf_init(request->data, (unsigned)(count - done));
  uv_write(request, connection, &rest, 1, sent);
}

static void accepted(uv_stream_t *listener, int status) {
  uv_tcp_t *connection = malloc(sizeof *connection);
  uv_tcp_init(listener->loop, connection);
  if (status == 0 && uv_accept(listener, (uv_stream_t *)connection) == 0) {
    uv_read_start((uv_stream_t *)connection, lend, received);
  } else {
    uv_close((uv_handle_t *)connection, ended);
  }
}

int main(void) {
  uv_tcp_t listener;
  uv_tcp_init(uv_default_loop(), &listener);
  if (uv_tcp_open(&listener, echo_listener) || uv_listen((uv_stream_t *)&listener, 4096, accepted)) return 1;
  return uv_run(uv_default_loop(), UV_RUN_DEFAULT);
}

#else

int main(void) {
  return echo_absent;
}

#endif
