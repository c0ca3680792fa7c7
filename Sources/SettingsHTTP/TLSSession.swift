internal import COpenSSL
internal import Platform

/// A TLS session over a socket, which has the server's certificate checked and encrypts what goes over the connection.
///
/// One thread at a time uses a session, which is why it is Sendable.
final class TLSSession: @unchecked Sendable {
    /// The state of a handshake.
    enum Handshake {
        case done
        case waiting(PollSet.Events)
        case failed(String)
    }

    private let host: String
    /// Nil if there is no OpenSSL: the handshake says so.
    private let session: OpaquePointer?

    /// Makes a session with the server that a socket leads to. The socket has to stay open for as long.
    init(over descriptor: Int32, to host: String) {
        self.host = host
        session = tls_open(descriptor, host, IPAddress(host) != nil)
    }

    deinit {
        if let session { tls_close(session) }
    }

    /// Goes on with the handshake as far as it can without waiting.
    func handshake() -> Handshake {
        guard let session else { return .failed(Self.missing) }
        return switch tls_handshake(session) {
        case 1...: .done
        case TLS_WANTS_READ: .waiting(.readable)
        case TLS_WANTS_WRITE: .waiting(.writable)
        default: .failed(reason(of: session))
        }
    }

    /// Receives as a socket does.
    func receive(into buffer: UnsafeMutableRawBufferPointer) -> Socket.ReceiveResult {
        switch tls_read(session, buffer.baseAddress, buffer.count) {
        case let count where count > 0: .bytes(count)
        case TLS_WANTS_READ, TLS_WANTS_WRITE: .nothing
        case TLS_END: .end
        // The connection ended, but the server did not end the session: something may be missing.
        default: .failed(code: SystemErrorCode.connectionReset)
        }
    }

    /// Sends as a socket does.
    func send(_ bytes: Span<UInt8>) -> Int? {
        switch bytes.withUnsafeBytes({ tls_write(session, $0.baseAddress, $0.count) }) {
        case let count where count > 0: count
        case TLS_WANTS_READ, TLS_WANTS_WRITE: 0
        default: nil
        }
    }

    /// True if received bytes are still to be read.
    var hasPending: Bool { tls_has_pending(session) }
}

/// Why there is no session.
extension TLSSession {
    private static var missing: String {
        let reason = tls_load_failure().map { String(cString: $0) } ?? "the process is out of memory"
        return "https:// needs OpenSSL 3: \(reason); install the package libssl3 (openssl-libs on Fedora)"
    }

    /// The reason why a handshake failed.
    private func reason(of session: OpaquePointer) -> String {
        let result = tls_certificate_result(session)
        let words = tls_certificate_words(result).map { String(cString: $0) } ?? "error \(result)"
        switch result {
        case 0: break
        case 10: return "its certificate has expired"
        case 62, 64: return "its certificate is for another host than \(host)"
        // Signed by itself, or by an authority that is not among those of the system.
        case 2, 18...21:
            return "no trusted authority issued its certificate (\(words)); set "
                + "SSL_CERT_FILE to a file of trusted authorities"
        default: return "its certificate is not valid: \(words)"
        }
        let failure = tls_failure_words().map { String(cString: $0) } ?? "the connection ended"
        let hint = failure == "wrong version number" ? "; use http:// if the server does not support TLS" : ""
        return "the TLS handshake failed: \(failure)\(hint)"
    }
}
