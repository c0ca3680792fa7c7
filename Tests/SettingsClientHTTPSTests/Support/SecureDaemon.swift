import Dispatch
import Foundation
import Glibc
import SettingsClient
import SettingsHTTP
import TestSupport

/// A daemon behind nginx, which speaks TLS and treats some suites as proxies do.
///
/// `https://localhost` has a certificate that is trusted, `https://127.0.0.1` one that is not. Of the suite `lost` every
/// request ends without an answer, `silent` never has one, `moved` is somewhere else, `locked` wants a password.
final class SecureDaemon {
    private let data: TemporaryDirectory
    private let daemon: DaemonProcess
    private let proxy: SecureProxy
    private let silent: LocalPort

    /// - Parameter options: those of the daemon beside its data and address.
    init(speaksHTTP2: Bool = false, options: [String] = []) throws {
        let certificates = try Certificates.shared()
        data = try TemporaryDirectory()
        daemon = try DaemonProcess(data: data.path + "/data", options: options)
        silent = try LocalPort()
        let (folder, ports) = (data.path, (daemon.port, silent.number))
        proxy = try SecureProxy(in: folder) { port in
            Self.servers(folder, certificates, port: port, daemon: ports.0, silent: ports.1, speaksHTTP2)
        }
    }

    var port: UInt16 { proxy.port }

    func address(host: String = "localhost") throws -> ServerAddress {
        try ServerAddress("https://\(host):\(port)")
    }

    func client(token: AccessToken? = nil, timeout: Duration = .seconds(30)) throws -> SettingsClient {
        SettingsClient(try address(), token: token, timeout: timeout)
    }

    /// The same daemon without a proxy.
    func plainClient() throws -> SettingsClient {
        try SettingsClient("http://127.0.0.1:\(daemon.port)")
    }

    /// The requests to the proxy: method, path, idempotency key, cookie.
    func requests() throws -> [[String]] {
        let text = try String(contentsOfFile: data.path + "/access", encoding: .utf8)
        return text.split(separator: "\n").map { $0.split(separator: " ").map(String.init) }
    }

    /// Waits until the daemon counts so many requests that wait for something; false if it has not come to that within
    /// minutes. It waits on a thread of its own, as tests that are tasks have few.
    func waits(forWatchers count: Int) async throws -> Bool {
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

    private static func servers(
        _ folder: String, _ certificates: TestAuthority, port: UInt16, daemon: UInt16, silent: UInt16, _ isHTTP2: Bool
    ) -> String {
        """
        log_format asked '$request_method $uri $http_idempotency_key $http_cookie';
        access_log \(folder)/access asked;
        upstream daemon { server 127.0.0.1:\(daemon); keepalive 8; }
        server {
            listen 127.0.0.1:\(port) ssl default_server \(isHTTP2 ? "http2" : "");
            ssl_certificate \(certificates.path("stranger.pem"));
            ssl_certificate_key \(certificates.path("stranger.key"));
            return 500;
        }
        server {
            listen 127.0.0.1:\(port) ssl \(isHTTP2 ? "http2" : "");
            server_name localhost;
            ssl_certificate \(certificates.path("trusted.pem"));
            ssl_certificate_key \(certificates.path("trusted.key"));
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
