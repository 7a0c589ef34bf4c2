// TLS on libevent's bufferevents: a server that echoes, and a client of it.

#include "guests.h"

#if __has_include(<openssl/ssl.h>) && __has_include(<event2/bufferevent_ssl.h>)

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/bufferevent_ssl.h>
#include <event2/event.h>
#include <event2/listener.h>
#include <netinet/in.h>
#include <openssl/ec.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <stdlib.h>
#include <string.h>

struct tls {
  struct event_base *base;
  SSL_CTX *server;
  SSL_CTX *client;
  struct evconnlistener *listener;
  struct bufferevent *ends[2];
  int wanted;
  int heard;
  int is_over;
  void (*call)(void *context, int words);
  void *context;
};

static const char word[] = "word";

static EVP_PKEY *key_new(void) {
  EVP_PKEY *key = NULL;
  EVP_PKEY_CTX *context = EVP_PKEY_CTX_new_id(EVP_PKEY_EC, NULL);
  EVP_PKEY_keygen_init(context);
  EVP_PKEY_CTX_set_ec_paramgen_curve_nid(context, NID_X9_62_prime256v1);
  EVP_PKEY_keygen(context, &key);
  EVP_PKEY_CTX_free(context);
  return key;
}

static X509 *certificate_new(EVP_PKEY *key) {
  X509 *certificate = X509_new();
  X509_set_version(certificate, 2);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate), 1);
  X509_gmtime_adj(X509_getm_notBefore(certificate), -3600);
  X509_gmtime_adj(X509_getm_notAfter(certificate), 3600);
  X509_set_pubkey(certificate, key);
  X509_NAME *name = X509_get_subject_name(certificate);
  X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, (const unsigned char *)"rondo.test", -1, -1, 0);
  X509_set_issuer_name(certificate, name);
  X509_sign(certificate, key, EVP_sha256());
  return certificate;
}

static void on_over(evutil_socket_t descriptor, short what, void *argument) {
  (void)descriptor;
  (void)what;
  struct tls *tls = argument;
  for (int index = 0; index < 2; index++) {
    if (tls->ends[index]) bufferevent_free(tls->ends[index]);
  }
  evconnlistener_free(tls->listener);
  SSL_CTX_free(tls->server);
  SSL_CTX_free(tls->client);
  tls->call(tls->context, tls->heard);
  free(tls);
}

// Not inside one of those that are to be freed.
static void end(struct tls *tls) {
  if (tls->is_over) return;
  tls->is_over = 1;
  event_base_once(tls->base, -1, EV_TIMEOUT, on_over, tls, NULL);
}

static void on_server_read(struct bufferevent *end, void *argument) {
  (void)argument;
  bufferevent_write_buffer(end, bufferevent_get_input(end));
}

static void on_client_read(struct bufferevent *client, void *argument) {
  struct tls *tls = argument;
  struct evbuffer *input = bufferevent_get_input(client);
  while (evbuffer_get_length(input) >= sizeof word) {
    char heard[sizeof word];
    evbuffer_remove(input, heard, sizeof heard);
    if (memcmp(heard, word, sizeof word) == 0) tls->heard++;
    if (tls->heard == tls->wanted) return end(tls);
    bufferevent_write(client, word, sizeof word);
  }
}

static void on_event(struct bufferevent *bufferevent, short what, void *argument) {
  struct tls *tls = argument;
  if (what & BEV_EVENT_CONNECTED) {
    if (bufferevent == tls->ends[1]) bufferevent_write(bufferevent, word, sizeof word);
  } else if (what & (BEV_EVENT_ERROR | BEV_EVENT_EOF)) {
    if (!tls->heard) tls->heard = -1;
    end(tls);
  }
}

static void watch(struct tls *tls, int index, struct bufferevent *bufferevent, bufferevent_data_cb on_read) {
  tls->ends[index] = bufferevent;
  bufferevent_setcb(bufferevent, on_read, NULL, on_event, tls);
  bufferevent_enable(bufferevent, EV_READ | EV_WRITE);
}

static void on_accept(struct evconnlistener *listener, evutil_socket_t descriptor, struct sockaddr *address, int size,
                      void *argument) {
  (void)listener;
  (void)address;
  (void)size;
  struct tls *tls = argument;
  watch(tls, 0,
        bufferevent_openssl_socket_new(tls->base, descriptor, SSL_new(tls->server), BUFFEREVENT_SSL_ACCEPTING,
                                       BEV_OPT_CLOSE_ON_FREE | BEV_OPT_DEFER_CALLBACKS),
        on_server_read);
}

int guest_tls(struct event_base *base, int words, void (*call)(void *context, int words), void *context) {
  struct tls *tls = calloc(1, sizeof *tls);
  tls->base = base;
  tls->wanted = words;
  tls->call = call;
  tls->context = context;

  EVP_PKEY *key = key_new();
  X509 *certificate = certificate_new(key);
  tls->server = SSL_CTX_new(TLS_server_method());
  SSL_CTX_use_certificate(tls->server, certificate);
  SSL_CTX_use_PrivateKey(tls->server, key);
  tls->client = SSL_CTX_new(TLS_client_method());
  X509_STORE_add_cert(SSL_CTX_get_cert_store(tls->client), certificate);
  SSL_CTX_set_verify(tls->client, SSL_VERIFY_PEER, NULL);
  X509_free(certificate);
  EVP_PKEY_free(key);

  struct sockaddr_in address;
  memset(&address, 0, sizeof address);
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  tls->listener = evconnlistener_new_bind(base, on_accept, tls, LEV_OPT_CLOSE_ON_FREE | LEV_OPT_CLOSE_ON_EXEC, 1,
                                          (struct sockaddr *)&address, sizeof address);
  socklen_t size = sizeof address;
  if (!tls->listener || getsockname(evconnlistener_get_fd(tls->listener), (struct sockaddr *)&address, &size)) abort();
  watch(tls, 1,
        bufferevent_openssl_socket_new(base, -1, SSL_new(tls->client), BUFFEREVENT_SSL_CONNECTING,
                                       BEV_OPT_CLOSE_ON_FREE | BEV_OPT_DEFER_CALLBACKS),
        on_client_read);
  bufferevent_socket_connect(tls->ends[1], (struct sockaddr *)&address, sizeof address);
  return 0;
}

#else

int guest_tls(struct event_base *base, int words, void (*call)(void *context, int words), void *context) {
  (void)base, (void)words, (void)call, (void)context;
  return -1;
}

#endif
