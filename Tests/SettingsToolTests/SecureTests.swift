import Glibc
import TestSupport
import Testing

/// Tests of `settings` with `https://` addresses. nginx terminates TLS, and forwards the requests to a real daemon.
/// `Shell` applies the schema in `Shell.swift` to the suite `app`, in commit 1.
/// In transcripts, `! ` begins a line of standard error, and `=> ` an exit code that is not 0: see `Shell`.
@Suite(.ownThread)
struct SecureTests {
    private let shell: Shell
    private let authority: TestAuthority

    init() throws {
        (shell, authority) = (try Shell(), try TestAuthority())
        try authority.make("localhost", for: "DNS:localhost")
        shell.variables = ["SSL_CERT_FILE=\(authority.path("authority.pem"))"]
    }

    /// Starts nginx as a proxy of the daemon: without TLS if the name of the certificate is `none`, otherwise with TLS.
    /// For each request, nginx writes a line with the number of the connection to the file `access`.
    private func proxy(certificate: String = "localhost", directives: String = "") throws -> SecureProxy {
        let folder = shell.directory.path
        let secured = """
            ssl_certificate \(authority.path("\(certificate).pem"));
            ssl_certificate_key \(authority.path("\(certificate).key"));
            """
        return try SecureProxy(in: folder) { port in
            """
            log_format connection '$connection';
            access_log \(folder)/access connection;
            upstream daemon { server unix:\(folder)/socket; keepalive 8; }
            server {
                listen 127.0.0.1:\(port) \(certificate == "none" ? "" : "ssl");
                \(certificate == "none" ? "" : secured)
                \(directives)
                location / { proxy_pass http://daemon; }
            }
            """
        }
    }

    @Test("Commands have the same results over https as over a Unix socket, also with an IP address and with TLS 1.2")
    func commands() throws {
        try authority.make("address", for: "IP:127.0.0.1")
        for (host, certificate, version) in [
            ("localhost", "localhost", "TLSv1.3"), ("127.0.0.1", "address", "TLSv1.2"),
        ] {
            let proxy = try proxy(certificate: certificate, directives: "ssl_protocols \(version);")
            shell.url = "https://\(host):\(proxy.port)"
            try shell.runTranscript(
                """
                $ settings set app launchCount 5
                launchCount: 0 (default) → 5
                $ settings get app launchCount theme
                5
                light
                $ settings set app launchCount 6 --if-unset 2>/dev/null
                => 5
                $ settings get app tags
                ! settings: tags of suite app is not set and has no default
                => 3
                $ settings unset app launchCount --quiet
                """)
        }
    }

    @Test("A suite of several pages and of megabytes is imported and exported unchanged over https")
    func large() throws {
        let proxy = try proxy()
        shell.url = "https://localhost:\(proxy.port)"
        let members = (1000..<3500).map { "  \"key\($0)\": \"\(String(repeating: "x", count: 1000))\"" }
        let text = "{\n" + members.joined(separator: ",\n") + "\n}\n"
        try shell.runSettings("import", "copy", try shell.directory.file("all.json", text), "--quiet")
        #expect(try shell.runSettings("export", "copy") == text)
        // The import sends one request. The export sends three requests, each for at most 1,000 keys, over a second
        // connection. nginx writes the line of a request to its log after it has sent the answer.
        try eventually { shell.text("access").split(separator: "\n").count == 4 }
        #expect(Set(shell.text("access").split(separator: "\n")).count == 2)
    }

    @Test(
        "watch and wait continue after a cut connection and after a restart of the daemon, and watch reports the outage"
    )
    func watching() throws {
        let proxy = try proxy()
        let tcpProxy = try TCPProxy(to: proxy.port)
        defer { tcpProxy.stop() }
        shell.url = "https://localhost:\(tcpProxy.port)"
        let wait = try shell.start("exec settings wait app launchCount=4")
        let watch = try shell.start("exec settings watch app --since \(try shell.cursor()) >&2")
        #expect(try shell.run("settings set app launchCount 1").code == 0)
        _ = try watch.line(containing: "launchCount: 0 (default) → 1")
        tcpProxy.set(.cut)
        _ = try watch.line(containing: "settings: no answer from the daemon: \(shell.url): ")
        let url = shell.url
        shell.url = "unix:\(shell.directory.path)/socket"
        #expect(try shell.run("settings set app launchCount 2").code == 0)
        tcpProxy.set(.passing)
        _ = try watch.line(containing: "launchCount: 1 → 2")
        try shell.restart()
        shell.url = url
        #expect(try shell.run("settings set app launchCount 3 && settings set app launchCount 4").code == 0)
        _ = try watch.line(containing: "launchCount: 3 → 4")
        #expect(try wait.end().code == 0)
        watch.signal(SIGINT)
        let changes = try watch.end().errors.split(separator: "\n").filter { $0.contains("→") }
        #expect(changes.count == 4, "\(changes)")
    }

    @Test("If TLS, the certificate or the OpenSSL library is wrong, a command ends with 7 and prints the cause")
    func refusals() throws {
        try authority.make("other", for: "DNS:other.example")
        try authority.make("expired", for: "DNS:localhost", days: -1)
        try authority.makeSelfSigned("stranger", for: "localhost")
        // With LD_LIBRARY_PATH=., the program finds this empty file instead of the OpenSSL library.
        _ = try shell.directory.file("libssl.so.3", "")
        let oldProtocol = "ssl_protocols TLSv1.1; ssl_ciphers DEFAULT@SECLEVEL=0;"
        for (certificate, directives, host, variable, message) in [
            ("localhost", "", "127.0.0.1", "", "the certificate of the server is for another host than 127.0.0.1"),
            ("other", "", "localhost", "", "the certificate of the server is for another host than localhost"),
            ("expired", "", "localhost", "", "the certificate of the server has expired"),
            (
                "localhost", "", "localhost", "SSL_CERT_FILE=",
                "no trusted authority issued the certificate of the server"
            ),
            ("stranger", "", "localhost", "", "(self-signed certificate); set SSL_CERT_FILE to a file of"),
            (
                "none", "", "localhost", "",
                "handshake failed: wrong version number; use http:// if the server does not support TLS"
            ),
            ("localhost", oldProtocol, "localhost", "", "the TLS handshake failed: "),
            ("localhost", "", "localhost", "LD_LIBRARY_PATH=.", "https:// needs OpenSSL 3: ./libssl.so.3: file"),
            ("localhost", "", "localhost", "LD_LIBRARY_PATH=.", "; install the package libssl3"),
        ] {
            let proxy = try proxy(certificate: certificate, directives: directives)
            let url = "https://\(host):\(proxy.port)"
            let end = try shell.run("\(variable) settings set app theme dark --server \(url)")
            #expect(end.code == 7 && end.output.isEmpty, "\(end)")
            #expect(end.errors.hasPrefix("settings: no answer from the daemon: \(url): "), "\(end.errors)")
            #expect(end.errors.contains(message), "\(end.errors)")
        }
        let port = try LocalPort.free()
        let end = try shell.run("settings get app theme --server https://localhost:\(port)")
        #expect(end.code == 7 && end.errors.hasSuffix(":\(port): Connection refused\n"), "\(end)")
        #expect(try shell.runSettings("get", "app", "theme", "--source") == "default\n")
    }
}
