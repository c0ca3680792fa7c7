internal import Glibc

/// A certificate authority in a folder, with the certificates that it signs.
package struct TestAuthority: Sendable {
    /// The options of `openssl req` that create a new key.
    private static let newKeyOptions = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes"
    private let folder: TemporaryDirectory

    /// Creates an authority with the certificate `authority.pem`.
    package init() throws {
        folder = try TemporaryDirectory()
        try makeSelfSigned("authority", for: "authority")
    }

    /// Creates the certificate `NAME.pem` with the key `NAME.key`, signed by the authority.
    ///
    /// - Parameters:
    ///   - host: The alternative name of the subject of the certificate, such as `DNS:localhost` or `IP:127.0.0.1`.
    ///   - days: The validity in days. If the number is negative, the certificate has already expired.
    package func make(_ name: String, for host: String, days: Int = 2) throws {
        _ = try folder.file("names", "subjectAltName=\(host)\n")
        try openssl("req \(Self.newKeyOptions) -keyout \(name).key -out \(name).csr -subj /CN=\(name)")
        try openssl(
            "x509 -req -in \(name).csr -CA authority.pem -CAkey authority.key -set_serial 1 -out \(name).pem "
                + "-days \(days) -extfile names")
    }

    /// Creates the self-signed certificate `NAME.pem` with the key `NAME.key`.
    ///
    /// - Parameter host: The common name of the subject of the certificate, without the prefix `DNS:` or `IP:`.
    package func makeSelfSigned(_ name: String, for host: String) throws {
        try openssl("req -x509 \(Self.newKeyOptions) -keyout \(name).key -out \(name).pem -days 2 -subj /CN=\(host)")
    }

    package func path(_ name: String) -> String { "\(folder.path)/\(name)" }

    package func remove() { folder.remove() }

    private func openssl(_ words: String) throws {
        let end = try ChildProcess.startTool("openssl", words, in: folder.path).end()
        guard end.code == 0 else {
            throw ChildProcess.Failure(description: "openssl \(words): \(end.code), \(end.errors)")
        }
    }
}

/// An nginx process that serves TLS on a port of 127.0.0.1.
package final class SecureProxy {
    private let process: ChildProcess
    package let port: UInt16

    /// Starts nginx and waits until it listens.
    ///
    /// - Parameters:
    ///   - folder: The folder for the files of nginx.
    ///   - servers: Returns the `server` blocks of the configuration of nginx. The argument is the port for TLS.
    package init(in folder: String, _ servers: (UInt16) -> String) throws {
        // Another process may open the free port before nginx does.
        var failure = ""
        for _ in 0..<5 {
            let port = try LocalPort.free()
            let file = "\(folder)/nginx.conf"
            try Self.write(Self.configuration(folder, servers(port)), to: file)
            let process = try ChildProcess.startTool("nginx", "-e stderr -p \(folder) -c \(file)", in: folder)
            do {
                // nginx logs this line after it has opened its sockets.
                _ = try process.line(containing: "event method")
            } catch let error as ChildProcess.Failure where error.description.contains("in use") {
                failure = error.description
                continue
            }
            (self.process, self.port) = (process, port)
            return
        }
        throw ChildProcess.Failure(description: "no port for nginx: \(failure)")
    }

    /// nginx must not refuse or end a request that the daemon accepts: bodies have up to 16 MiB, long polls wait up to
    /// 300 s, and event streams must not be buffered.
    private static func configuration(_ folder: String, _ servers: String) -> String {
        let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
            .map { "\($0)_temp_path \(folder)/\($0);" }.joined(separator: "\n")
        return """
            daemon off;
            master_process off;
            error_log stderr notice;
            pid \(folder)/nginx.pid;
            events { worker_connections 512; }
            http {
                \(temporary)
                client_max_body_size 17m;
                proxy_http_version 1.1;
                proxy_buffering off;
                proxy_next_upstream off;
                proxy_read_timeout 330s;
                proxy_set_header Host $host;
                proxy_set_header Connection "";
                \(servers)
            }
            """
    }

    private static func write(_ text: String, to path: String) throws {
        guard let file = fopen(path, "we") else { throw ChildProcess.Failure(description: "\(path): error \(errno)") }
        fputs(text, file)
        fclose(file)
    }
}

extension ChildProcess {
    /// Starts a program that the tests need in addition to Swift. If the program is missing, the child prints a message
    /// and exits with code 127.
    package static func startTool(_ name: String, _ words: String, in folder: String) throws -> ChildProcess {
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
