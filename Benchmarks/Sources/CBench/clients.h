// What the clients of a server are made of.

#ifndef CLIENTS_H
#define CLIENTS_H

#include "bench.h"

#include <netinet/in.h>

/// How long clients wait for anything, in milliseconds.
enum { bench_patience = 10000 };

// MARK: Servers

/// The process of a server, and its address.
typedef struct bench_server {
  pid_t process;
  struct sockaddr_in address;
} bench_server;

/// Starts a program on a processor, with a socket as descriptor 3 and `files` after it. False if that failed.
///
/// The socket has the address. It listens, or the program has to listen there by itself.
bool bench_server_start(
  bench_server *server, const char *program, int processor, bool listens, const int *files, int count);

/// A connection that never blocks; negative if the server has ended, or takes none. Waits until the server listens.
int bench_server_connect(const bench_server *server);

/// The memory of its own that it has now, in bytes; what it maps from files does not count.
int64_t bench_server_memory(const bench_server *server);

/// Kills it. Its exit status if it has ended by itself, 0 otherwise, -1 if nobody knows.
int bench_server_end(const bench_server *server);

// MARK: TLS

/// A certificate for a server, and clients that accept no other.
typedef struct bench_authority {
  /// The certificate and its key, in PEM, in memory.
  int files[2];
  void *context, *certificate;
} bench_authority;

/// False if there is no OpenSSL.
bool bench_authority_make(bench_authority *authority);
void bench_authority_free(bench_authority *authority);

/// The client's side of TLS 1.3 on a connection that never blocks: a full handshake. NULL if there is no memory.
void *bench_session_open(const bench_authority *authority, int connection);

/// Shakes hands with what has come: 1 if that is over, 0 if more is to come, -1 if it is not the authority's server.
int bench_session_shake(void *session, const bench_authority *authority);

/// As recv(2) and send(2).
ssize_t bench_session_receive(void *session, void *bytes, size_t room);
ssize_t bench_session_send(void *session, const void *bytes, size_t count);

/// Says goodbye. NULL is no session.
void bench_session_close(void *session);

#endif
