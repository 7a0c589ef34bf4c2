// Certificates to be thrown away.

#include "peer.h"

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <stdio.h>

static FILE *file_open(const char *directory, const char *name, const char *kind, const char *mode) {
  char path[512];
  snprintf(path, sizeof path, "%s/%s.%s", directory, name, kind);
  return fopen(path, mode);
}

static EVP_PKEY *key_new(void) { return EVP_EC_gen("P-256"); }

static void extend(X509 *certificate, X509 *issuer, int kind, const char *value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, issuer, certificate, NULL, NULL, 0);
  X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, &context, kind, value);
  X509_add_ext(certificate, extension, -1);
  X509_EXTENSION_free(extension);
}

int peer_certificate(const char *directory, const char *name, const char *hosts, long from, long to, const char *issuer,
                      const char *password) {
  static long serial;
  EVP_PKEY *key = key_new();
  X509 *certificate = X509_new();
  X509_set_version(certificate, 2);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate), ++serial);
  X509_gmtime_adj(X509_getm_notBefore(certificate), from);
  X509_gmtime_adj(X509_getm_notAfter(certificate), to);
  X509_set_pubkey(certificate, key);
  X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate), "CN", MBSTRING_ASC, (const unsigned char *)name, -1, -1,
                             0);

  EVP_PKEY *signer = key;
  X509 *authority = certificate;
  if (issuer) {
    FILE *file = file_open(directory, issuer, "pem", "r");
    if (!file) return -1;
    authority = PEM_read_X509(file, NULL, NULL, NULL);
    fclose(file);
    file = file_open(directory, issuer, "key", "r");
    if (!file) return -1;
    signer = PEM_read_PrivateKey(file, NULL, NULL, NULL);
    fclose(file);
  }
  X509_set_issuer_name(certificate, X509_get_subject_name(authority));
  if (hosts) extend(certificate, authority, NID_subject_alt_name, hosts);
  if (!issuer) extend(certificate, authority, NID_basic_constraints, "critical,CA:TRUE");
  X509_sign(certificate, signer, EVP_sha256());

  FILE *file = file_open(directory, name, "pem", "w");
  if (!file) return -1;
  PEM_write_X509(file, certificate);
  fclose(file);
  file = file_open(directory, name, "key", "w");
  if (!file) return -1;
  PEM_write_PrivateKey(file, key, password ? EVP_aes_256_cbc() : NULL, NULL, 0, NULL, (void *)password);
  fclose(file);
  if (issuer) {
    X509_free(authority);
    EVP_PKEY_free(signer);
  }
  X509_free(certificate);
  EVP_PKEY_free(key);
  return 0;
}
