#include <burst.h>

#if __has_include(<uv.h>)

#include <uv.h>

// libuv receives as many datagrams with one call as there are 64 KiB, and 20 at most.
static char rooms[20 * 65536];

static void lend(uv_handle_t *handle, size_t suggested, uv_buf_t *buffer) {
  (void)handle, (void)suggested;
  *buffer = uv_buf_init(rooms, sizeof rooms);
}

static void received(
    uv_udp_t *handle, ssize_t count, const uv_buf_t *buffer, const struct sockaddr *sender, unsigned flags) {
  (void)flags;
  if (count >= 0 && sender != NULL) burst_took(handle->data, buffer->base, (size_t)count);
}

int main(void) {
  uv_udp_t receiver;
  if (uv_udp_init_ex(uv_default_loop(), &receiver, AF_UNSPEC | UV_UDP_RECVMMSG)) return 1;
  receiver.data = burst_open();
  if (uv_udp_open(&receiver, burst_socket) || uv_udp_recv_start(&receiver, lend, received)) return 1;
  return uv_run(uv_default_loop(), UV_RUN_DEFAULT);
}

#else

int main(void) {
  return burst_absent;
}

#endif
