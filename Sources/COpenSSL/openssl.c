#include "COpenSSL.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>

// The functions of OpenSSL that this file uses. Their types are declared here, so that a build does not need the headers of
// OpenSSL. The types match OpenSSL 3.
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

// Declares a pointer to each function. `load` sets the pointers.
#define DECLARE(result, name, parameters) static result (*name) parameters;
FUNCTIONS(DECLARE)

// Constants of OpenSSL. Their values are a part of the binary interface of OpenSSL.
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

// MARK: A BIO (an input and output object of OpenSSL) for a socket. The socket BIO of OpenSSL would raise SIGPIPE if the peer
// has closed the connection.

static int descriptor_of(BIO *bio) { return (int)(intptr_t)BIO_get_data(bio); }

// Returns the result of a system call to OpenSSL. If the call would block, sets the flags that ask OpenSSL to try again.
static int finish_transfer(BIO *bio, ssize_t count, int direction) {
    BIO_clear_flags(bio, bio_read | bio_write | bio_should_retry);
    if (count < 0 && errno == EAGAIN) BIO_set_flags(bio, direction | bio_should_retry);
    return (int)count;
}

static int send_bytes(BIO *bio, const char *bytes, int count) {
    ssize_t sent;
    do sent = send(descriptor_of(bio), bytes, count, MSG_NOSIGNAL);
    while (sent < 0 && errno == EINTR);
    return finish_transfer(bio, sent, bio_write);
}

static int receive_bytes(BIO *bio, char *buffer, int count) {
    ssize_t received;
    do received = recv(descriptor_of(bio), buffer, count, 0);
    while (received < 0 && errno == EINTR);
    return finish_transfer(bio, received, bio_read);
}

// OpenSSL also sends commands to a BIO. Only `flush` succeeds, without an effect, because `send_bytes` has no buffer.
static long control(BIO *bio, int command, long number, void *pointer) {
    (void)bio, (void)number, (void)pointer;
    return command == bio_ctrl_flush;
}

// MARK: The library

static void load(void) {
    void *library = dlopen("libssl.so.3", RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        // Copy the message, because the next call of `dlopen` or `dlerror` on this thread can overwrite it.
        const char *message = dlerror();
        load_failure = message == NULL ? NULL : strdup(message);
        if (load_failure == NULL) load_failure = "libssl.so.3 cannot be loaded";
        return;
    }
    // `dlsym` also finds the functions of libcrypto, because libssl depends on libcrypto.
#define LOAD(result, name, parameters) \
    if ((name = (result (*) parameters)dlsym(library, #name)) == NULL) load_failure = "libssl.so.3 has no " #name;
    FUNCTIONS(LOAD)
    if (load_failure != NULL) return;
    // Without this option, OpenSSL would free objects in an exit handler while other threads may still use them.
    OPENSSL_init_ssl(init_no_atexit, NULL);
    context = SSL_CTX_new(TLS_client_method());
    // 127 is the number of this BIO type. OpenSSL uses lower numbers for its own types.
    method = BIO_meth_new(bio_type_source | 127, "socket");
    // Trust the authorities of the system, or the authorities in SSL_CERT_FILE and SSL_CERT_DIR.
    if (context == NULL || method == NULL || SSL_CTX_set_default_verify_paths(context) != 1 ||
        SSL_CTX_ctrl(context, ctrl_lowest_version, version_1_2, NULL) != 1) {
        load_failure = "OpenSSL cannot be set up";
        return;
    }
    SSL_CTX_set_verify(context, verify_peer, NULL);
    SSL_CTX_ctrl(context, ctrl_mode, mode_partial_write | mode_moving_buffer, NULL);
    // Without renegotiation, a read after the handshake only waits for received bytes, and a write only waits for free space in
    // the send buffer.
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
    bool host_is_set = host_is_address
        ? X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(session), host) == 1
        // `ctrl_host_name` sends the host name to the server, which selects its certificate by this name.
        : SSL_set1_host(session, host) == 1 && SSL_ctrl(session, ctrl_host_name, 0, (void *)host) == 1;
    if (bio != NULL) {
        BIO_set_data(bio, (void *)(intptr_t)descriptor);
        BIO_set_init(bio, 1);
        SSL_set_bio(session, bio, bio);
    }
    if (bio != NULL && host_is_set) return session;
    SSL_free(session);
    return NULL;
}

void tls_close(tls_session *session) { SSL_free(session); }

// Converts the result of an OpenSSL call: returns a positive result unchanged, otherwise one of the `TLS_…` constants.
static ssize_t converted_result(SSL *session, int result) {
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
    return converted_result(session, SSL_connect(session));
}

ssize_t tls_read(tls_session *session, void *buffer, size_t count) {
    ERR_clear_error();
    return converted_result(session, SSL_read(session, buffer, clamped(count)));
}

ssize_t tls_write(tls_session *session, const void *bytes, size_t count) {
    ERR_clear_error();
    return converted_result(session, SSL_write(session, bytes, clamped(count)));
}

bool tls_has_pending(const tls_session *session) { return SSL_has_pending(session); }

long tls_certificate_result(const tls_session *session) { return SSL_get_verify_result(session); }

const char *tls_certificate_message(long result) { return X509_verify_cert_error_string(result); }

const char *tls_failure_message(void) {
    unsigned long code = ERR_peek_last_error();
    return code == 0 ? NULL : ERR_reason_error_string(code);
}
