import CTrustedAuthority
import Glibc
import SettingsClientHTTPS
import TestSupport

/// The certificates of all tests: one for `localhost` by an authority that this process trusts, and one by another.
struct Certificates: Sendable {
    let folder: TemporaryDirectory

    /// Makes them, has the authority trusted and `https://` enabled, once.
    static func shared() throws -> Certificates { try made.get() }

    private static let made = Result {
        let certificates = try Certificates()
        trust_authority(certificates.path("authority.pem"))
        // Whatever proxy this machine goes through, it does not lead back here.
        setenv("no_proxy", "localhost,127.0.0.1", 1)
        HTTPS.enable()
        atexit { try? Certificates.shared().folder.remove() }
        return certificates
    }

    private init() throws {
        folder = try TemporaryDirectory()
        let names = try folder.file("names", "subjectAltName=DNS:localhost\n")
        let key = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes"
        try openssl("req -x509 \(key) -keyout authority.key -out authority.pem -days 2 -subj /CN=authority")
        try openssl("req \(key) -keyout trusted.key -out trusted.csr -subj /CN=localhost")
        try openssl(
            "x509 -req -in trusted.csr -CA authority.pem -CAkey authority.key -set_serial 1 -out trusted.pem -days 2 "
                + "-extfile \(names)")
        try openssl("req -x509 \(key) -keyout stranger.key -out stranger.pem -days 2 -subj /CN=127.0.0.1")
    }

    func path(_ name: String) -> String { "\(folder.path)/\(name)" }

    private func openssl(_ words: String) throws {
        let child = try ChildProcess.program("openssl", words, in: folder.path)
        let end = try child.end()
        guard end.code == 0 else {
            throw ChildProcess.Failure(description: "openssl \(words): \(end.code), \(end.errors)")
        }
    }
}

extension ChildProcess {
    /// A program that the tests need beside Swift. Where it is missing, its end or its first line says so.
    static func program(_ name: String, _ words: String, in folder: String) throws -> ChildProcess {
        let script = """
            cd "\(folder)" || exit 1
            command -v \(name) >/dev/null || { echo "\(name) is missing: scripts/check installs it" >&2; exit 127; }
            exec \(name) \(words)
            """
        let path = getenv("PATH").map { String(cString: $0) } ?? ""
        return try ChildProcess(
            ["-c", script], environment: ["PATH=\(path):/usr/sbin:/usr/bin:/sbin:/bin"], of: "/bin/sh")
    }
}
