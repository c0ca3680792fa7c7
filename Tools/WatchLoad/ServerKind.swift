/// The servers that can be watched, and how each is spoken to.
enum ServerKind: String {
    case settingsd
    case etcd

    /// A request that is answered at once, with which a connection shows that it was accepted.
    var greeting: [UInt8] { plainGet(self == .settingsd ? "/healthz" : "/version") }

    /// The request for the cursor from which watchers begin; nil for etcd, whose watchers begin at the current revision.
    var cursorRequest: [UInt8]? { self == .settingsd ? plainGet("/v1") : nil }

    /// Answers that tell how many wait. etcd needs none: it sends the head of an answer when it begins to wait.
    var waiting: [UInt8]? { self == .settingsd ? plainGet("/metrics") : nil }

    /// What stands before the number in such an answer.
    static let waitingMetric = Array("\nsettingsd_watchers ".utf8)
    /// What stands before the cursor in the body of an answer, and what after it.
    static let cursorMember = (before: Array("\"cursor\":\"".utf8), after: UInt8(ascii: "\""))

    /// The request that waits for a change of a key: these bytes before the cursor, `watchEnd` after it.
    func watch(key: Int) -> [UInt8] {
        switch self {
        case .settingsd: Array("GET /v1/suites/app/observe?key=watched-\(key)&since=".utf8)
        case .etcd: Array("GET /v2/keys/app/watched-\(key)?wait=true".utf8)
        }
    }

    func watchEnd(wait: Int) -> [UInt8] {
        Array(((self == .settingsd ? "&wait=\(wait)" : "") + Self.headEnd).utf8)
    }

    func put(key: Int, value: Int) -> [UInt8] {
        let (path, type, body) =
            switch self {
            case .settingsd: ("/v1/suites/app/keys/watched-\(key)", "application/json", "\(value)")
            case .etcd: ("/v2/keys/app/watched-\(key)", "application/x-www-form-urlencoded", "value=\(value)")
            }
        let fields = "Content-Type: \(type)\r\nContent-Length: \(body.utf8.count)"
        return Array("PUT \(path) HTTP/1.1\r\nHost: 127.0.0.1\r\n\(fields)\r\n\r\n\(body)".utf8)
    }

    private func plainGet(_ path: String) -> [UInt8] { Array("GET \(path)\(Self.headEnd)".utf8) }

    private static let headEnd = " HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
}
