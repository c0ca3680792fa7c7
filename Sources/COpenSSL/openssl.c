#include "COpenSSL.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>

// The part of OpenSSL's interface that is used here. Its headers are not needed to build, and these have been the same
// since version 1.1.
typedef struct ssl_st SSL;
typedef struct ssl_ctx_st SSL_CTX;
typedef struct bio_st BIO;
typedef struct bio_method_st BIO_METHOD;

#define FUNCTIONS(F) \
    F(int, OPENSSL_init_ssl, (uint64_t options, const void *settings)) \
    F(const void *, TLS_client_method, (void)) \
    F(SSL_CTX *, SSL_CTX_new, (const void *method)) \
    F(long, SSL_CTX_ctrl, (SSL_CTX *, int command, long number, void *)) \
    F(uint64_t, SSL_CTX_set_options, (SSL_CTX *, uint64_t)) \
    F(void, SSL_CTX_set_verify, (SSL_CTX *, int mode, void *callback)) \
    F(int, SSL_CTX_set_default_verify_paths, (SSL_CTX *)) \
    F(SSL *, SSL_new, (SSL_CTX *)) \
    F(void, SSL_free, (SSL *)) \
    F(long, SSL_ctrl, (SSL *, int command, long number, void *)) \
    F(int, SSL_set1_host, (SSL *, const char *)) \
    F(void *, SSL_get0_param, (SSL *)) \
    F(int, X509_VERIFY_PARAM_set1_ip_asc, (void *param, const char *)) \
    F(void, SSL_set_bio, (SSL *, BIO *, BIO *)) \
    F(int, SSL_connect, (SSL *)) \
    F(int, SSL_read, (SSL *, void *, int)) \
    F(int, SSL_write, (SSL *, const void *, int)) \
    F(int, SSL_has_pending, (const SSL *)) \
    F(int, SSL_get_error, (const SSL *, int)) \
    F(long, SSL_get_verify_result, (const SSL *)) \
    F(const char *, X509_verify_cert_error_string, (long)) \
    F(unsigned long, ERR_peek_last_error, (void)) \
    F(const char *, ERR_reason_error_string, (unsigned long)) \
    F(void, ERR_clear_error, (void)) \
    F(BIO_METHOD *, BIO_meth_new, (int type, const char *name)) \
    F(int, BIO_meth_set_write, (BIO_METHOD *, int (*)(BIO *, const char *, int))) \
    F(int, BIO_meth_set_read, (BIO_METHOD *, int (*)(BIO *, char *, int))) \
    F(int, BIO_meth_set_ctrl, (BIO_METHOD *, long (*)(BIO *, int, long, void *))) \
    F(BIO *, BIO_new, (const BIO_METHOD *)) \
    F(void, BIO_set_init, (BIO *, int)) \
    F(void, BIO_set_data, (BIO *, void *)) \
    F(void *, BIO_get_data, (BIO *)) \
    F(void, BIO_set_flags, (BIO *, int)) \
    F(void, BIO_clear_flags, (BIO *, int))

#define DECLARE(result, name, parameters) static result (*name) parameters;
FUNCTIONS(DECLARE)

// Their values are a part of OpenSSL's binary interface.
enum {
    ctrl_mode = 33, ctrl_host_name = 55, ctrl_lowest_version = 123, version_1_2 = 0x0303,
    mode_partial_write = 1, mode_moving_buffer = 2, verify_peer = 1,
    error_wants_read = 2, error_wants_write = 3, error_ended = 6,
    bio_read = 1, bio_write = 2, bio_should_retry = 8, bio_ctrl_flush = 11, bio_type_source = 0x400,
};
static const uint64_t option_no_renegotiation = 1u << 30, init_no_atexit = 1u << 19;

static pthread_once_t loading = PTHREAD_ONCE_INIT;
static const char *load_failure;
static SSL_CTX *context;
static BIO_METHOD *method;

// MARK: The socket. OpenSSL's own would raise SIGPIPE when the peer has gone.

static int descriptor_of(BIO *bio) { return (int)(intptr_t)BIO_get_data(bio); }

static int moved(BIO *bio, ssize_t count, int direction) {
    BIO_clear_flags(bio, bio_read | bio_write | bio_should_retry);
    if (count < 0 && errno == EAGAIN) BIO_set_flags(bio, direction | bio_should_retry);
    return (int)count;
}

static int send_bytes(BIO *bio, const char *bytes, int count) {
    ssize_t sent;
    do sent = send(descriptor_of(bio), bytes, count, MSG_NOSIGNAL);
    while (sent < 0 && errno == EINTR);
    return moved(bio, sent, bio_write);
}

static int receive_bytes(BIO *bio, char *buffer, int count) {
    ssize_t received;
    do received = recv(descriptor_of(bio), buffer, count, 0);
    while (received < 0 && errno == EINTR);
    return moved(bio, received, bio_read);
}

static long control(BIO *bio, int command, long number, void *pointer) {
    (void)bio, (void)number, (void)pointer;
    return command == bio_ctrl_flush;
}

// MARK: The library

static void load(void) {
    void *library = dlopen("libssl.so.3", RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        // The words are the thread's until the next call.
        const char *words = dlerror();
        load_failure = words == NULL ? NULL : strdup(words);
        if (load_failure == NULL) load_failure = "libssl.so.3 cannot be loaded";
        return;
    }
    // The library brings libcrypto, which is searched with it.
#define LOAD(result, name, parameters) \
    if ((name = (result (*) parameters)dlsym(library, #name)) == NULL) load_failure = "libssl.so.3 has no " #name;
    FUNCTIONS(LOAD)
    if (load_failure != NULL) return;
    // At exit OpenSSL would free what other threads of the program may still use.
    OPENSSL_init_ssl(init_no_atexit, NULL);
    context = SSL_CTX_new(TLS_client_method());
    method = BIO_meth_new(bio_type_source | 127, "socket");
    // The authorities are those of the system, or of SSL_CERT_FILE and SSL_CERT_DIR.
    if (context == NULL || method == NULL || SSL_CTX_set_default_verify_paths(context) != 1 ||
        SSL_CTX_ctrl(context, ctrl_lowest_version, version_1_2, NULL) != 1) {
        load_failure = "OpenSSL cannot be set up";
        return;
    }
    SSL_CTX_set_verify(context, verify_peer, NULL);
    SSL_CTX_ctrl(context, ctrl_mode, mode_partial_write | mode_moving_buffer, NULL);
    // So after the handshake a read waits for nothing but bytes, and a write for nothing but room.
    SSL_CTX_set_options(context, option_no_renegotiation);
    BIO_meth_set_write(method, send_bytes);
    BIO_meth_set_read(method, receive_bytes);
    BIO_meth_set_ctrl(method, control);
}

const char *tls_load_failure(void) {
    pthread_once(&loading, load);
    return load_failure;
}

// MARK: Sessions

tls_session *tls_open(int descriptor, const char *host, bool host_is_address) {
    if (tls_load_failure() != NULL) return NULL;
    SSL *session = SSL_new(context);
    if (session == NULL) return NULL;
    BIO *bio = BIO_new(method);
    bool is_named = host_is_address
        ? X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(session), host) == 1
        // Which of its certificates the server shows goes by the name.
        : SSL_set1_host(session, host) == 1 && SSL_ctrl(session, ctrl_host_name, 0, (void *)host) == 1;
    if (bio != NULL) {
        BIO_set_data(bio, (void *)(intptr_t)descriptor);
        BIO_set_init(bio, 1);
        SSL_set_bio(session, bio, bio);
    }
    if (bio != NULL && is_named) return session;
    SSL_free(session);
    return NULL;
}

void tls_close(tls_session *session) { SSL_free(session); }

// What a call says that returned a number.
static ssize_t outcome(SSL *session, int result) {
    if (result > 0) return result;
    switch (SSL_get_error(session, result)) {
    case error_wants_read: return TLS_WANTS_READ;
    case error_wants_write: return TLS_WANTS_WRITE;
    case error_ended: return TLS_END;
    default: return TLS_FAILED;
    }
}

static int clamped(size_t count) { return count > INT_MAX ? INT_MAX : (int)count; }

ssize_t tls_handshake(tls_session *session) {
    ERR_clear_error();
    return outcome(session, SSL_connect(session));
}

ssize_t tls_read(tls_session *session, void *buffer, size_t count) {
    ERR_clear_error();
    return outcome(session, SSL_read(session, buffer, clamped(count)));
}

ssize_t tls_write(tls_session *session, const void *bytes, size_t count) {
    ERR_clear_error();
    return outcome(session, SSL_write(session, bytes, clamped(count)));
}

bool tls_has_pending(const tls_session *session) { return SSL_has_pending(session); }

long tls_certificate_result(const tls_session *session) { return SSL_get_verify_result(session); }

const char *tls_certificate_words(long result) { return X509_verify_cert_error_string(result); }

const char *tls_failure_words(void) {
    unsigned long code = ERR_peek_last_error();
    return code == 0 ? NULL : ERR_reason_error_string(code);
}
