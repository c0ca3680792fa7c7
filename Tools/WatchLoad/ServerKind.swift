/// The servers that can be watched, with the requests of each.
enum ServerKind: String {
    case settingsd
    case etcd

    /// A request that the server answers at once. The answer shows that the server has accepted the connection.
    var greeting: [UInt8] { plainGet(self == .settingsd ? "/healthz" : "/version") }

    /// The request for the cursor from which watchers begin; nil for etcd, whose watchers begin at the current
    /// revision.
    var cursorRequest: [UInt8]? { self == .settingsd ? plainGet("/v1") : nil }

    /// The request for the number of waiting watchers. Nil for etcd, which sends the head of an answer when a watcher
    /// begins to wait.
    var waitingCountRequest: [UInt8]? { self == .settingsd ? plainGet("/metrics") : nil }

    /// The text before the number of waiting watchers in the answer to `waitingCountRequest`.
    static let waitingMetric = Array("\nsettingsd_watchers ".utf8)
    /// The texts before and after the cursor in the body of an answer.
    static let cursorMember = (before: Array("\"cursor\":\"".utf8), after: UInt8(ascii: "\""))

    /// The beginning of the request that waits for a change of a key. The cursor and `watchEnd` follow.
    func watchStart(key: Int) -> [UInt8] {
        switch self {
        case .settingsd: Array("GET /v1/suites/app/observe?key=watched-\(key)&since=".utf8)
        case .etcd: Array("GET /v2/keys/app/watched-\(key)?wait=true".utf8)
        }
    }

    /// The end of the request that waits for a change, after the cursor.
    ///
    /// - Parameter wait: the seconds that a long poll of settingsd waits. etcd has no such parameter.
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
