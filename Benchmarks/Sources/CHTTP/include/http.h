// The programs of the workloads `http`, `https` and `tls`: each answers GET / with one line, on one loop, until it is
// killed. It listens by itself at the address of the socket that it finds at its start.

#ifndef HTTP_H
#define HTTP_H

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

enum {
  /// Has the address to listen at, and does not listen itself.
  http_socket = 3,
  /// The exit status of a program that was built without its library.
  http_absent = 3
};

/// The certificate and its key in PEM, for a program that speaks TLS.
#define http_certificate "/proc/self/fd/4"
#define http_key "/proc/self/fd/5"

/// The port to listen at, of 127.0.0.1.
static inline unsigned short http_port(void) {
  struct sockaddr_in address = {0};
  socklen_t length = sizeof address;
  getsockname(http_socket, (struct sockaddr *)&address, &length);
  return ntohs(address.sin_port);
}

#endif
