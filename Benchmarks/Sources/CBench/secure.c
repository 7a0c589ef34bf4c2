// The clients' side of TLS, by OpenSSL.

#define _GNU_SOURCE
#include "clients.h"

#if __has_include(<openssl/ssl.h>)

#include <errno.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <sys/mman.h>
#include <unistd.h>

bool bench_has_tls(void) {
  return true;
}

static X509 *certificate_new(EVP_PKEY *key) {
  enum { hour = 3600 };
  X509 *certificate = X509_new();
  X509_set_version(certificate, 2);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate), 1);
  X509_gmtime_adj(X509_getm_notBefore(certificate), -hour);
  X509_gmtime_adj(X509_getm_notAfter(certificate), hour);
  X509_set_pubkey(certificate, key);
  X509_NAME *name = X509_get_subject_name(certificate);
  X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, (const unsigned char *)"a", -1, -1, 0);
  X509_set_issuer_name(certificate, name);
  X509_sign(certificate, key, EVP_sha256());
  return certificate;
}

static int file_new(const char *name, EVP_PKEY *key, X509 *certificate) {
  int file = memfd_create(name, MFD_CLOEXEC);
  BIO *writer = BIO_new_fd(file, BIO_NOCLOSE);
  if (certificate) PEM_write_bio_X509(writer, certificate);
  if (key) PEM_write_bio_PrivateKey(writer, key, NULL, NULL, 0, NULL, NULL);
  BIO_free(writer);
  return file;
}

bool bench_authority_make(bench_authority *authority) {
  EVP_PKEY *key = EVP_EC_gen("P-256");
  X509 *certificate = certificate_new(key);
  authority->certificate = certificate;
  authority->files[0] = file_new("certificate", NULL, certificate);
  authority->files[1] = file_new("key", key, NULL);
  EVP_PKEY_free(key);
  SSL_CTX *context = SSL_CTX_new(TLS_client_method());
  authority->context = context;
  // One choice, so that every server computes the same.
  SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION);
  SSL_CTX_set_ciphersuites(context, "TLS_AES_128_GCM_SHA256");
  SSL_CTX_set1_groups_list(context, "X25519");
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  ERR_clear_error();
  return authority->files[0] >= 0 && authority->files[1] >= 0;
}

void bench_authority_free(bench_authority *authority) {
  SSL_CTX_free(authority->context);
  X509_free(authority->certificate);
  for (int index = 0; index < 2; index++) {
    if (authority->files[index] >= 0) close(authority->files[index]);
  }
}

void *bench_session_open(const bench_authority *authority, int connection) {
  SSL *session = SSL_new(authority->context);
  if (session == NULL) return NULL;
  SSL_set_fd(session, connection);
  SSL_set_connect_state(session);
  return session;
}

int bench_session_shake(void *session, const bench_authority *authority) {
  int result = SSL_do_handshake(session);
  if (result != 1) return SSL_get_error(session, result) == SSL_ERROR_WANT_READ ? 0 : -1;
  // The handshake has proved that the server has the certificate's key. To compare the certificate costs less of the
  // clients' processor than to check its chain.
  X509 *certificate = SSL_get1_peer_certificate(session);
  bool is_right = certificate != NULL && X509_cmp(certificate, authority->certificate) == 0;
  X509_free(certificate);
  return is_right && !SSL_session_reused(session) ? 1 : -1;
}

// What recv(2) and send(2) would return.
static ssize_t transferred(SSL *session, int count) {
  if (count > 0) return count;
  int error = SSL_get_error(session, count);
  if (error == SSL_ERROR_ZERO_RETURN) return 0;
  errno = error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE ? EAGAIN : EPROTO;
  return -1;
}

ssize_t bench_session_receive(void *session, void *bytes, size_t room) {
  return transferred(session, SSL_read(session, bytes, (int)room));
}

ssize_t bench_session_send(void *session, const void *bytes, size_t count) {
  return transferred(session, SSL_write(session, bytes, (int)count));
}

void bench_session_close(void *session) {
  if (session == NULL) return;
  SSL_shutdown(session);
  SSL_free(session);
  // It may have failed; the next one's errors are to be its own.
  ERR_clear_error();
}

#else

bool bench_has_tls(void) {
  return false;
}

bool bench_authority_make(bench_authority *authority) {
  (void)authority;
  return false;
}

void bench_authority_free(bench_authority *authority) {
  (void)authority;
}

void *bench_session_open(const bench_authority *authority, int connection) {
  (void)authority, (void)connection;
  return NULL;
}

int bench_session_shake(void *session, const bench_authority *authority) {
  (void)session, (void)authority;
  return -1;
}

ssize_t bench_session_receive(void *session, void *bytes, size_t room) {
  (void)session, (void)bytes, (void)room;
  return -1;
}

ssize_t bench_session_send(void *session, const void *bytes, size_t count) {
  (void)session, (void)bytes, (void)count;
  return -1;
}

void bench_session_close(void *session) {
  (void)session;
}

#endif
