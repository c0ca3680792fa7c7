internal import Glibc
package import TestSupport

/// The certificates for the tests of `https://`: `trusted` for `localhost` from an authority that this process trusts,
/// and `stranger` for `127.0.0.1`, which is self-signed.
package enum Certificates {
    /// Creates the certificates once, and makes OpenSSL in this process trust the authority.
    ///
    /// OpenSSL reads the authorities when the first TLS session of the process opens. Every test of `https://`
    /// therefore calls this function before its first request.
    @discardableResult
    package static func shared() throws -> TestAuthority { try created.get() }

    private static let created = Result {
        let authority = try TestAuthority()
        try authority.make("trusted", for: "DNS:localhost")
        try authority.makeSelfSigned("stranger", for: "127.0.0.1")
        setenv("SSL_CERT_FILE", authority.path("authority.pem"), 1)
        atexit { try? Certificates.shared().remove() }
        return authority
    }
}
