import CTrustedAuthority
import Glibc
import SettingsClientHTTPS
import TestSupport

/// The certificates of all tests: one for `localhost` by an authority that this process trusts, and one by no authority.
enum Certificates {
    /// Makes them, has the authority trusted and `https://` enabled, once.
    static func shared() throws -> TestAuthority { try made.get() }

    private static let made = Result {
        let authority = try TestAuthority()
        try authority.make("trusted", for: "DNS:localhost")
        try authority.makeSelfSigned("stranger", for: "127.0.0.1")
        trust_authority(authority.path("authority.pem"))
        // Whatever proxy this machine goes through, it does not lead back here.
        setenv("no_proxy", "localhost,127.0.0.1", 1)
        HTTPS.enable()
        atexit { try? Certificates.shared().remove() }
        return authority
    }
}
