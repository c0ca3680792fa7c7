// TLS over a connected socket with the system's OpenSSL 3. The first session loads OpenSSL. So a program that uses no TLS does
// not load OpenSSL, and a statically linked program does not contain a copy of OpenSSL that needs security updates.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

typedef struct ssl_st tls_session;

// The results of a call that has transferred no bytes and has not completed the handshake. TLS_END: the peer has ended the
// session. TLS_WANTS_READ and TLS_WANTS_WRITE: repeat the call when the socket is readable or writable.
// TLS_FAILED: an error; `tls_certificate_result` and `tls_failure_message` give the reason.
enum { TLS_END = 0, TLS_WANTS_READ = -1, TLS_WANTS_WRITE = -2, TLS_FAILED = -3 };

// Loads OpenSSL 3 if it is not loaded. Returns the reason of a failure, or NULL after success.
const char *tls_load_failure(void);

// Creates a session over a non-blocking socket. The certificate of the server must be for `host`, which is a name or an
// address. Returns NULL if OpenSSL or memory is missing, or if OpenSSL refuses the host. The caller owns the socket, and keeps it
// open until `tls_close`.
tls_session *tls_open(int descriptor, const char *host, bool host_is_address);
void tls_close(tls_session *session);

// Continues the handshake. Returns 1 when the handshake is complete, otherwise one of the constants above.
ssize_t tls_handshake(tls_session *session);

// Return the number of bytes, or one of the constants above. A repeated write must begin with the same bytes.
ssize_t tls_read(tls_session *session, void *buffer, size_t count);
ssize_t tls_write(tls_session *session, const void *bytes, size_t count);

// True if the session has received bytes that the caller has not read.
bool tls_has_pending(const tls_session *session);

// The result of the check of the certificate, which is an `X509_V_…` number of OpenSSL (0 after success), and its message.
long tls_certificate_result(const tls_session *session);
const char *tls_certificate_message(long result);

// The message of OpenSSL for the last failure on this thread; NULL if there is none.
const char *tls_failure_message(void);
