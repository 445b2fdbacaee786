#include "tlsio.h"

#include "secret.h"

#include <openssl/bio.h>
#include <openssl/conf.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct tlsio_side {
    SSL_CTX *ctx;
    bool server;
};

struct tlsio {
    SSL *ssl;
};

/* The words of the first error in the queue, which is then emptied. */
static const char *
reason(void)
{
    unsigned long code = ERR_get_error();
    const char *text = ERR_reason_error_string(code);

    ERR_clear_error();
    return text == NULL ? "no reason given" : text;
}

static X509 *
next_cert(BIO *bio)
{
    X509 *cert = PEM_read_bio_X509(bio, NULL, NULL, NULL);

    ERR_clear_error();
    return cert;
}

static bool
use_chain(SSL_CTX *ctx, const char *pem, struct err *err)
{
    BIO *bio = BIO_new_mem_buf(pem, -1);
    X509 *cert = bio == NULL ? NULL : next_cert(bio);
    bool ok = cert != NULL && SSL_CTX_use_certificate(ctx, cert) == 1;

    X509_free(cert);
    while (ok && (cert = next_cert(bio)) != NULL)
        if (SSL_CTX_add0_chain_cert(ctx, cert) != 1) {
            X509_free(cert);
            ok = false;
        }
    BIO_free(bio);
    return ok || err_set(err, ERR_CERT, "certificate: %s", reason());
}

static bool
use_key(SSL_CTX *ctx, const struct secret *secret, struct err *err)
{
    BIO *bio = BIO_new_mem_buf(secret_text(secret), (int)secret_len(secret));
    EVP_PKEY *key = NULL;
    bool ok;

    if (bio != NULL)
        key = PEM_read_bio_PrivateKey(bio, NULL, NULL, NULL);
    ok = key != NULL && SSL_CTX_use_PrivateKey(ctx, key) == 1 &&
         SSL_CTX_check_private_key(ctx) == 1;
    EVP_PKEY_free(key);
    BIO_free(bio);
    return ok || err_set(err, ERR_CERT, "private key: %s", reason());
}

static bool
use_ca(SSL_CTX *ctx, const char *pem, struct err *err)
{
    X509_STORE *store = SSL_CTX_get_cert_store(ctx);
    BIO *bio = BIO_new_mem_buf(pem, -1);
    X509 *cert = NULL;
    int count = 0;
    bool ok = bio != NULL;

    while (ok && (cert = next_cert(bio)) != NULL) {
        ok = X509_STORE_add_cert(store, cert) == 1;
        X509_free(cert);
        count++;
    }
    BIO_free(bio);
    if (!ok || count == 0)
        return err_set(err, ERR_CERT, "CA certificates: %s", reason());
    return true;
}

static bool
use_trust(SSL_CTX *ctx, const struct tlsio_options *options, struct err *err)
{
    if (!options->server) {
        SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER, NULL);
        if (options->ca_pem == NULL && SSL_CTX_set_default_verify_paths(ctx))
            return true;
    } else if (options->ca_pem == NULL) {
        return true;
    } else {
        SSL_CTX_set_verify(ctx,
            SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
    }
    if (options->ca_pem == NULL)
        return err_set(err, ERR_CERT, "the system's CA certificates: %s",
            reason());
    return use_ca(ctx, options->ca_pem, err);
}

/* Whatever the process-wide settings say, never below 1.2. */
static bool
set_limits(SSL_CTX *ctx)
{
    SSL_CTX_set_options(ctx, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
    SSL_CTX_set_mode(ctx, SSL_MODE_ENABLE_PARTIAL_WRITE |
                              SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                              SSL_MODE_RELEASE_BUFFERS);
    SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_OFF);
    if (SSL_CTX_get_min_proto_version(ctx) >= TLS1_2_VERSION)
        return true;
    return SSL_CTX_set_min_proto_version(ctx, TLS1_2_VERSION) == 1;
}

struct tlsio_side *
tlsio_side_new(const struct tlsio_options *options, struct err *err)
{
    struct tlsio_side *side = calloc(1, sizeof *side);
    bool ok = false;

    if (side == NULL) {
        err_set(err, ERR_MEMORY, "TLS");
        goto out;
    }
    side->server = options->server;
    side->ctx = SSL_CTX_new(
        options->server ? TLS_server_method() : TLS_client_method());
    if (side->ctx == NULL || !set_limits(side->ctx)) {
        err_set(err, ERR_CERT, "TLS: %s", reason());
        goto out;
    }
    if (options->server && options->cert_pem == NULL) {
        err_set(err, ERR_CERT, "a TLS server needs a certificate");
        goto out;
    }
    if (options->cert_pem != NULL &&
        (!use_chain(side->ctx, options->cert_pem, err) ||
            !use_key(side->ctx, options->key_pem, err)))
        goto out;
    ok = use_trust(side->ctx, options, err);
out:
    if (!ok) {
        tlsio_side_free(side);
        side = NULL;
    }
    return side;
}

void
tlsio_side_free(struct tlsio_side *side)
{
    if (side == NULL)
        return;
    SSL_CTX_free(side->ctx);
    free(side);
}

/* The name goes into SNI only when it is one: an address must not. */
static bool
expect_name(SSL *ssl, const char *name)
{
    X509_VERIFY_PARAM *param = SSL_get0_param(ssl);

    if (X509_VERIFY_PARAM_set1_ip_asc(param, name) == 1)
        return true;
    ERR_clear_error();
    X509_VERIFY_PARAM_set_hostflags(param,
        X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    /* SSL_set_tlsext_host_name() with a cast that Clang takes */
    return SSL_set1_host(ssl, name) == 1 &&
           SSL_ctrl(ssl, SSL_CTRL_SET_TLSEXT_HOSTNAME,
               TLSEXT_NAMETYPE_host_name, (void *)(uintptr_t)name) == 1;
}

struct tlsio *
tlsio_new(const struct tlsio_side *side, int fd, const char *name,
    struct err *err)
{
    struct tlsio *tls = calloc(1, sizeof *tls);
    bool ok = false;

    assert(side->server || name != NULL);
    if (tls == NULL || (tls->ssl = SSL_new(side->ctx)) == NULL ||
        SSL_set_fd(tls->ssl, fd) != 1) {
        err_set(err, ERR_MEMORY, "TLS session");
        goto out;
    }
    if (side->server) {
        SSL_set_accept_state(tls->ssl);
    } else {
        SSL_set_connect_state(tls->ssl);
        if (!expect_name(tls->ssl, name)) {
            err_set(err, ERR_CERT, "%s: not a host name", name);
            goto out;
        }
    }
    ok = true;
out:
    ERR_clear_error();
    if (!ok) {
        tlsio_free(tls);
        tls = NULL;
    }
    return tls;
}

void
tlsio_free(struct tlsio *tls)
{
    if (tls == NULL)
        return;
    SSL_free(tls->ssl);
    free(tls);
}

/* What a call that gave `result` means.  errno is the call's own. */
static enum tlsio_state
judge(struct tlsio *tls, int result, int error, struct err *err)
{
    long verified;

    switch (SSL_get_error(tls->ssl, result)) {
    case SSL_ERROR_NONE:
        return TLSIO_OK;
    case SSL_ERROR_WANT_READ:
        return TLSIO_WANT_READ;
    case SSL_ERROR_WANT_WRITE:
        return TLSIO_WANT_WRITE;
    case SSL_ERROR_ZERO_RETURN:
        return TLSIO_CLOSED;
    case SSL_ERROR_SYSCALL:
        errno = error;
        if (error == 0)
            err_set_retry(err, ERR_NET, "TLS: the connection was cut");
        else
            err_sys(err, ERR_NET, "TLS");
        err->retry = true;
        return TLSIO_FAILED;
    default:
        break;
    }
    verified = SSL_get_verify_result(tls->ssl);
    if (verified != X509_V_OK) {
        err_set(err, ERR_CERT, "TLS: %s",
            X509_verify_cert_error_string(verified));
        ERR_clear_error();
    } else if (ERR_GET_REASON(ERR_peek_error()) ==
               SSL_R_UNEXPECTED_EOF_WHILE_READING) {
        ERR_clear_error();
        err_set_retry(err, ERR_NET, "TLS: the connection was cut");
    } else {
        err_set_retry(err, ERR_NET, "TLS: %s", reason());
    }
    return TLSIO_FAILED;
}

enum tlsio_state
tlsio_handshake(struct tlsio *tls, struct err *err)
{
    int result;

    ERR_clear_error();
    errno = 0;
    result = SSL_do_handshake(tls->ssl);
    return judge(tls, result, errno, err);
}

enum tlsio_state
tlsio_read(struct tlsio *tls, void *bytes, size_t size, size_t *n,
    struct err *err)
{
    int result;

    *n = 0;
    ERR_clear_error();
    errno = 0;
    result = SSL_read_ex(tls->ssl, bytes, size, n);
    return judge(tls, result, errno, err);
}

enum tlsio_state
tlsio_write(struct tlsio *tls, const void *bytes, size_t len, size_t *n,
    struct err *err)
{
    int result;

    *n = 0;
    ERR_clear_error();
    errno = 0;
    result = SSL_write_ex(tls->ssl, bytes, len, n);
    return judge(tls, result, errno, err);
}

enum tlsio_state
tlsio_close(struct tlsio *tls, struct err *err)
{
    int result;

    if (!SSL_is_init_finished(tls->ssl))
        return TLSIO_OK; /* there is nobody to say goodbye to yet */
    ERR_clear_error();
    errno = 0;
    result = SSL_shutdown(tls->ssl);
    if (result >= 0)
        return TLSIO_OK; /* sent; the answer may still come */
    return judge(tls, result, errno, err);
}

bool
tlsio_pending(const struct tlsio *tls)
{
    return SSL_pending(tls->ssl) > 0;
}

const char *
tlsio_version(const struct tlsio *tls)
{
    return SSL_get_version(tls->ssl);
}

static const struct floor {
    const char *name;
    int version;
} floors[] = {
    { "1.2", TLS1_2_VERSION },
    { "1.3", TLS1_3_VERSION },
};

static const struct floor *
find_floor(const char *name)
{
    for (size_t i = 0; i < sizeof floors / sizeof floors[0]; i++)
        if (strcmp(floors[i].name, name) == 0)
            return &floors[i];
    return NULL;
}

/* SSL_CTX_new() applies what is called system_default to every context. */
static bool
load_settings(const struct floor *floor)
{
    CONF *conf = NCONF_new(NULL);
    BIO *bio = NULL;
    char text[512];
    long line = 0;
    bool ok;

    (void)snprintf(text, sizeof text,
        "kedge = top\n[top]\nssl_conf = ssl\n[ssl]\nsystem_default = all\n"
        "[all]\nMinProtocol = TLSv%s\n"
        "CipherString = ECDHE+AESGCM:ECDHE+CHACHA20\n"
        "Ciphersuites = TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256:"
        "TLS_AES_128_GCM_SHA256\n",
        floor->name);
    bio = BIO_new_mem_buf(text, -1);
    /* The machine's own settings first, so that they do not come later. */
    ok = conf != NULL && bio != NULL &&
         OPENSSL_init_ssl(OPENSSL_INIT_LOAD_CONFIG, NULL) == 1 &&
         NCONF_load_bio(conf, bio, &line) == 1 &&
         CONF_modules_load(conf, "kedge", 0) == 1;
    BIO_free(bio);
    NCONF_free(conf);
    return ok;
}

bool
tlsio_process_floor(const char *min_version, struct err *err)
{
    const struct floor *floor = find_floor(min_version);
    SSL_CTX *ctx;
    bool ok;

    if (floor == NULL)
        return err_set(err, ERR_CONFIG,
            "min_version %s: only \"1.2\" and \"1.3\" are possible",
            min_version);
    /* A client that had to be left behind may use it until the very end. */
    (void)OPENSSL_init_crypto(OPENSSL_INIT_NO_ATEXIT, NULL);
    if (!load_settings(floor))
        return err_set(err, ERR_CERT, "OpenSSL settings: %s", reason());
    ctx = SSL_CTX_new(TLS_client_method());
    ok = ctx != NULL && SSL_CTX_get_min_proto_version(ctx) == floor->version;
    SSL_CTX_free(ctx);
    ERR_clear_error();
    return ok || err_set(err, ERR_CERT,
                     "OpenSSL does not keep to TLS %s as the lowest version",
                     floor->name);
}
