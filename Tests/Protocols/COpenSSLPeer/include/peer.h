// Another implementation of TLS, for the tests.
#pragma once

#include <stddef.h>

// An end of TLS on bytes that the caller moves, which asks for what no well-behaved one asks for. A client trusts any
// server. One that is old knows no version after TLS 1.2.
struct peer;
struct peer *peer_new(int is_server, int is_old, const char *chain, const char *key);
void peer_free(struct peer *peer);
// Takes what the other end has sent. Whether the handshake is over.
int peer_take(struct peer *peer, const void *bytes, size_t count);
// The bytes for the other end, at most `size`: how many.
size_t peer_give(struct peer *peer, void *room, size_t size);
// Makes records: data, at most 16 KiB; a request for new keys; a ticket in records of at most 512 bytes, if a server; a
// request for another handshake, if it is old.
void peer_write(struct peer *peer, const void *bytes, size_t count);
void peer_renew_keys(struct peer *peer);
void peer_send_ticket(struct peer *peer);
void peer_renegotiate(struct peer *peer);
// The data that was taken, at most `size`: how many bytes.
size_t peer_read(struct peer *peer, void *room, size_t size);

// Writes DIRECTORY/NAME.pem and NAME.key: valid from so many seconds from now to so many, for `hosts` as X509V3 writes them
// ("DNS:rondo.test,IP:127.0.0.1"), signed by ISSUER's key in the same directory, or by itself, as an authority.
int peer_certificate(const char *directory, const char *name, const char *hosts, long from, long to, const char *issuer,
                     const char *password);

// How many bytes of the process's heap are in use.
size_t peer_heap(void);
