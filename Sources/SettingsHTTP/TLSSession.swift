internal import COpenSSL
internal import Platform

/// A TLS session over a socket. The session checks the certificate of the server, and encrypts the bytes of the
/// connection.
///
/// `@unchecked Sendable`, because only one thread at a time uses a session.
final class TLSSession: @unchecked Sendable {
    enum Handshake {
        case done
        case waiting(PollSet.Events)
        case failed(String)
    }

    private let host: String
    /// Nil if OpenSSL cannot be loaded or cannot create the session. The handshake then fails with a message.
    private let session: OpaquePointer?

    /// Creates a session over a connected socket. The socket must stay open until the session is released.
    init(over descriptor: Int32, to host: String) {
        self.host = host
        session = tls_open(descriptor, host, IPAddress(host) != nil)
    }

    deinit {
        if let session { tls_close(session) }
    }

    /// Advances the handshake as far as possible without waiting.
    func handshake() -> Handshake {
        guard let session else { return .failed(Self.creationFailure) }
        return switch tls_handshake(session) {
        case 1...: .done
        case TLS_WANTS_READ: .waiting(.readable)
        case TLS_WANTS_WRITE: .waiting(.writable)
        default: .failed(reason(of: session))
        }
    }

    /// Receives bytes. The results have the same meaning as the results of ``Socket/receive(into:)``.
    func receive(into buffer: UnsafeMutableRawBufferPointer) -> Socket.ReceiveResult {
        switch tls_read(session, buffer.baseAddress, buffer.count) {
        case let count where count > 0: .bytes(count)
        // Without renegotiation, a read never waits to write.
        case TLS_WANTS_READ, TLS_WANTS_WRITE: .nothing
        case TLS_END: .end
        // The connection ended before the server ended the session, so the end of the answer may be missing.
        default: .failed(code: SystemErrorCode.connectionReset)
        }
    }

    /// Sends bytes. Returns the number of sent bytes: 0 if no byte can be sent now, nil after an error.
    func send(_ bytes: Span<UInt8>) -> Int? {
        switch bytes.withUnsafeBytes({ tls_write(session, $0.baseAddress, $0.count) }) {
        case let count where count > 0: count
        case TLS_WANTS_READ, TLS_WANTS_WRITE: 0
        default: nil
        }
    }

    /// True if the session has received bytes that were not read.
    var hasPending: Bool { tls_has_pending(session) }
}

extension TLSSession {
    /// The error message if `session` is nil.
    private static var creationFailure: String {
        guard let reason = tls_load_failure().map({ String(cString: $0) }) else {
            return "cannot create a TLS session: OpenSSL refuses the host, or the process is out of memory"
        }
        return "https:// needs OpenSSL 3: \(reason); install the package libssl3 (openssl-libs on Fedora)"
    }

    /// Returns the reason why a handshake failed.
    private func reason(of session: OpaquePointer) -> String {
        let result = tls_certificate_result(session)
        let message = tls_certificate_message(result).map { String(cString: $0) } ?? "error \(result)"
        // The numbers are the constants `X509_V_…` of OpenSSL.
        switch result {
        case 0: break
        case 10: return "the certificate of the server has expired"
        case 62, 64: return "the certificate of the server is for another host than \(host)"
        // The certificate is self-signed, or signed by an authority that the system does not trust.
        case 2, 18...21:
            return "no trusted authority issued the certificate of the server (\(message)); set "
                + "SSL_CERT_FILE to a file of trusted authorities"
        default: return "the certificate of the server is not valid: \(message)"
        }
        let failure = tls_failure_message().map { String(cString: $0) } ?? "the connection ended"
        // OpenSSL reports this failure if the server answers without TLS.
        let hint = failure == "wrong version number" ? "; use http:// if the server does not support TLS" : ""
        return "the TLS handshake failed: \(failure)\(hint)"
    }
}
