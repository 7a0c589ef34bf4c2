#include <http.h>

#if __has_include(<openssl/ssl.h>)

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

static const char answer[] = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 6\r\n\r\nhello\n";

typedef struct connection {
  int descriptor;
  SSL *session;
  size_t received;
  char request[1024];
} connection;

static SSL_CTX *context_new(void) {
  SSL_CTX *context = SSL_CTX_new(TLS_server_method());
  if (SSL_CTX_use_certificate_chain_file(context, http_certificate) != 1) exit(1);
  if (SSL_CTX_use_PrivateKey_file(context, http_key, SSL_FILETYPE_PEM) != 1) exit(1);
  // As with BoringSSL, connections that wait hold no buffers. Sessions are kept by their clients.
  SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS);
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  return context;
}

static void connection_end(connection *connection) {
  SSL_shutdown(connection->session);
  SSL_free(connection->session);
  close(connection->descriptor);
  free(connection);
  ERR_clear_error();
}

static void connection_begin(int epoll, SSL_CTX *context) {
  // The C library shows accept4(2) only to who defines _GNU_SOURCE before anything else.
  int descriptor = (int)syscall(SYS_accept4, http_socket, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
  if (descriptor < 0) return;
  connection *new = malloc(sizeof *new);
  new->descriptor = descriptor;
  new->session = SSL_new(context);
  new->received = 0;
  SSL_set_fd(new->session, descriptor);
  SSL_set_accept_state(new->session);
  epoll_ctl(epoll, EPOLL_CTL_ADD, descriptor, &(struct epoll_event){.events = EPOLLIN, .data = {.ptr = new}});
}

/// Takes what has come, and answers a request when it is whole. False when the peer has gone.
///
/// A record is taken from the socket by itself, so epoll(7) tells of the next one. A client has one request under way,
/// and its answer fits into the socket's buffer.
static int connection_serve(connection *connection) {
  char *end = connection->request + connection->received;
  int count = SSL_read(connection->session, end, (int)(sizeof connection->request - connection->received));
  if (count <= 0) return SSL_get_error(connection->session, count) == SSL_ERROR_WANT_READ;
  connection->received += (size_t)count;
  if (connection->received < 4 || memcmp(end + count - 4, "\r\n\r\n", 4) != 0) return 1;
  connection->received = 0;
  return SSL_write(connection->session, answer, sizeof answer - 1) > 0;
}

int main(void) {
  signal(SIGPIPE, SIG_IGN);
  SSL_CTX *context = context_new();
  if (listen(http_socket, 4096) != 0) return 1;
  int epoll = epoll_create1(EPOLL_CLOEXEC);
  epoll_ctl(epoll, EPOLL_CTL_ADD, http_socket, &(struct epoll_event){.events = EPOLLIN});
  for (;;) {
    struct epoll_event events[256];
    int count = epoll_wait(epoll, events, 256, -1);
    for (int index = 0; index < count; index++) {
      connection *ready = events[index].data.ptr;
      if (ready == NULL) {
        connection_begin(epoll, context);
      } else if (!connection_serve(ready)) {
        connection_end(ready);
      }
    }
  }
}

#else

int main(void) {
  return http_absent;
}

#endif
