internal import Dispatch
internal import Foundation
internal import Glibc
package import SettingsHTTP
package import SettingsModel
internal import TestSupport

/// A daemon behind nginx. nginx speaks TLS, and does not pass the requests to the suites `lost`, `silent`, `moved` and
/// `locked` to the daemon.
///
/// The certificate of `https://localhost` is trusted, and the certificate of `https://127.0.0.1` is not. nginx closes
/// the connection of a request to `lost`, never answers a request to `silent`, redirects a request to `moved` to the
/// suite `app`, and asks for a password in the answer to a request to `locked`.
package final class SecureDaemon {
    private let data: TemporaryDirectory
    private let daemon: DaemonProcess
    private let proxy: SecureProxy
    /// A port on which no program answers. nginx passes the requests to the suite `silent` to this port.
    private let silentPort: LocalPort

    /// - Parameters:
    ///   - speaksHTTP2: If true, nginx offers HTTP/2 to clients that negotiate it.
    ///   - options: The options of the daemon in addition to its data and its address.
    package init(speaksHTTP2: Bool = false, options: [String] = []) throws {
        let certificates = try Certificates.shared()
        data = try TemporaryDirectory()
        daemon = try DaemonProcess(data: data.path + "/data", options: options)
        silentPort = try LocalPort()
        let (folder, daemonPort, silentNumber) = (data.path, daemon.port, silentPort.number)
        proxy = try SecureProxy(in: folder) { port in
            Self.nginxConfiguration(
                folder, certificates, port: port, daemon: daemonPort, silent: silentNumber, speaksHTTP2: speaksHTTP2)
        }
    }

    package var port: UInt16 { proxy.port }

    package func address(host: String = "localhost") throws -> ServerAddress {
        try ServerAddress("https://\(host):\(port)")
    }

    package func client(token: AccessToken? = nil, timeout: Duration = .seconds(30)) throws -> DaemonClient {
        DaemonClient(try address(), token: token, timeout: timeout)
    }

    /// A client that reaches the daemon without nginx.
    package func plainClient() throws -> DaemonClient {
        try DaemonClient("http://127.0.0.1:\(daemon.port)")
    }

    /// The requests in the log of nginx: method, path, idempotency key, cookie.
    package func requests() throws -> [[String]] {
        let text = try String(contentsOfFile: data.path + "/access", encoding: .utf8)
        return text.split(separator: "\n").map { $0.split(separator: " ").map(String.init) }
    }

    /// Waits until the daemon counts this number of watchers. Returns false after three minutes.
    ///
    /// The function waits on its own thread, because the thread pool of tasks is small.
    package func waits(forWatchers count: Int) async throws -> Bool {
        let client = try plainClient().blocking
        return await withCheckedContinuation { continuation in
            DispatchQueue(label: "waiting for watchers").async {
                let limit = ContinuousClock.now + .seconds(180)
                var isReached = false
                while !isReached, ContinuousClock.now < limit {
                    let lines = (try? client.send(.metrics))?.split(separator: "\n") ?? []
                    isReached = lines.contains("settingsd_watchers \(count)")
                    if !isReached { poll(nil, 0, 20) }
                }
                continuation.resume(returning: isReached)
            }
        }
    }

    private static func nginxConfiguration(
        _ folder: String, _ certificates: TestAuthority, port: UInt16, daemon: UInt16, silent: UInt16, speaksHTTP2: Bool
    ) -> String {
        """
        log_format requests '$request_method $uri $http_idempotency_key $http_cookie';
        access_log \(folder)/access requests;
        upstream daemon { server 127.0.0.1:\(daemon); keepalive 8; }
        # This server is for https://127.0.0.1. A client that trusts the self-signed certificate by mistake gets the
        # status 500.
        server {
            listen 127.0.0.1:\(port) ssl default_server \(speaksHTTP2 ? "http2" : "");
            ssl_certificate \(certificates.path("stranger.pem"));
            ssl_certificate_key \(certificates.path("stranger.key"));
            return 500;
        }
        server {
            listen 127.0.0.1:\(port) ssl \(speaksHTTP2 ? "http2" : "");
            server_name localhost;
            ssl_certificate \(certificates.path("trusted.pem"));
            ssl_certificate_key \(certificates.path("trusted.key"));
            # A client of the daemon must ignore cookies.
            add_header Set-Cookie "taste=bad" always;
            location / { proxy_pass http://daemon; }
            location /v1/suites/silent { proxy_pass http://127.0.0.1:\(silent); }
            location /v1/suites/lost { return 444; }
            location /v1/suites/moved { return 307 https://localhost:\(port)/v1/suites/app; }
            location /v1/suites/locked {
                add_header WWW-Authenticate 'Basic realm="x"' always;
                return 401 "who are you";
            }
        }
        """
    }
}

extension SecureDaemon {
    /// Returns a daemon and a client that sends requests to this daemon.
    package static func withClient() throws -> (SecureDaemon, DaemonClient) {
        let daemon = try SecureDaemon()
        return (daemon, try daemon.client())
    }
}
