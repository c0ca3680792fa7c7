// TLS over a connected socket, by the system's OpenSSL 3. It is loaded for the first session, so that a program that
// needs none pays nothing, and one that is linked statically has no copy of it to keep safe.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

typedef struct ssl_st tls_session;

// What a call returns that has neither bytes nor a success.
enum { TLS_END = 0, TLS_WANTS_READ = -1, TLS_WANTS_WRITE = -2, TLS_FAILED = -3 };

// The reason why there is no OpenSSL 3; NULL if there is.
const char *tls_load_failure(void);

// A session over a socket that does not block, for a server whose certificate has to be for this host, a name or an
// address. NULL without OpenSSL or memory. The socket stays the caller's, and open for as long as the session.
tls_session *tls_open(int descriptor, const char *host, bool host_is_address);
void tls_close(tls_session *session);

// Goes on with the handshake: 1 when it is done.
ssize_t tls_handshake(tls_session *session);

// Returns the number of bytes, or one of the above. A write that wants to be repeated has to begin with the same bytes.
ssize_t tls_read(tls_session *session, void *buffer, size_t count);
ssize_t tls_write(tls_session *session, const void *bytes, size_t count);

// True if received bytes wait in the session.
bool tls_has_pending(const tls_session *session);

// The result of the check of the certificate, an X509_V_… number, 0 for success; and its words.
long tls_certificate_result(const tls_session *session);
const char *tls_certificate_words(long result);

// OpenSSL's words for the last failure on this thread; NULL if it has none.
const char *tls_failure_words(void);
