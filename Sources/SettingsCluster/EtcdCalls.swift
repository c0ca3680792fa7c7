internal import HTTPWire
internal import SettingsModel

/// A call of etcd's JSON gateway, with the form of its answer.
///
/// The gateway ignores members that it does not know: a misspelt condition would be none. So bodies are made of types
/// only, and tests hold their bytes.
protocol EtcdCall: Sendable {
    associatedtype Answer: Sendable

    static var target: RequestTarget { get }
    func write(to json: inout JSONWriter)
    /// Reads the answer; nil if it has another form. The gateway leaves out members that are zero, false or empty.
    func answer(_ json: JSONValue) -> Answer?
}

/// A key with its value.
struct EtcdPair: Equatable, Sendable {
    let key: String
    let value: [UInt8]
}

/// A read of one key, or of all keys from `key` up to `end`.
struct EtcdRange: Equatable, Sendable {
    var key: String
    var end: String?
    /// The most keys; nil for all.
    var limit: Int?
    var isDescending = false
    var hasKeysOnly = false

    fileprivate func writeMembers(to json: inout JSONWriter) {
        json.member("key", base64: key)
        if let end { json.member("range_end", base64: end) }
        if let limit {
            json.name(literal: "limit")
            json.write(string: String(limit))
        }
        if isDescending {
            json.name(literal: "sort_order")
            json.write(string: "DESCEND")
            json.name(literal: "sort_target")
            json.write(string: "KEY")
        }
        if hasKeysOnly {
            json.name(literal: "keys_only")
            json.write(bool: true)
        }
    }
}

/// The header of an answer.
struct EtcdHeader: Equatable, Sendable {
    /// The identity of the etcd cluster.
    let cluster: String
    /// The revision of etcd at which the call was carried out.
    let revision: Int64
    /// The number of the election that made the present leader.
    let term: Int64

    fileprivate init?(_ json: JSONValue) {
        guard let cluster = json["cluster_id"]?.string, let revision = json["revision"]?.etcdInteger,
            let term = json["raft_term"]?.etcdInteger
        else { return nil }
        (self.cluster, self.revision, self.term) = (cluster, revision, term)
    }
}

/// A transaction: all operations of one branch, by the conditions, at one revision of etcd.
struct EtcdTransaction: EtcdCall, Equatable {
    struct Condition: Equatable, Sendable {
        var key: String
        /// The value that the key must have; nil if it must not exist.
        var value: [UInt8]?
    }

    enum Operation: Equatable, Sendable {
        /// The key ends with the lease if that is not 0.
        case put(String, [UInt8], lease: Int64 = 0)
        /// Deletes a key, or all from the first up to the second.
        case delete(String, to: String? = nil)
        case range(EtcdRange)
    }

    struct Answer: Equatable, Sendable {
        let hasSucceeded: Bool
        let header: EtcdHeader
        /// What each range of the branch found, in order.
        let ranges: [[EtcdPair]]
    }

    var conditions: [Condition] = []
    var success: [Operation] = []
    var failure: [Operation] = []

    static let target = RequestTarget("v3", "kv", "txn")

    func write(to json: inout JSONWriter) {
        json.beginObject()
        json.name(literal: "compare")
        json.beginArray()
        for condition in conditions {
            json.beginObject()
            json.member("key", base64: condition.key)
            json.name(literal: "result")
            json.write(string: "EQUAL")
            json.name(literal: "target")
            json.write(string: condition.value == nil ? "CREATE" : "VALUE")
            if let value = condition.value {
                json.member("value", base64: value)
            } else {
                json.name(literal: "create_revision")
                json.write(string: "0")
            }
            json.endObject()
        }
        json.endArray()
        for (name, operations) in [("success" as StaticString, success), ("failure", failure)] {
            json.name(literal: name)
            json.beginArray()
            for operation in operations { operation.write(to: &json) }
            json.endArray()
        }
        json.endObject()
    }

    func answer(_ json: JSONValue) -> Answer? {
        guard let header = json["header"].flatMap({ EtcdHeader($0) }) else { return nil }
        var ranges: [[EtcdPair]] = []
        for response in json["responses"]?.array ?? [] {
            guard let range = response["response_range"] else { continue }
            var pairs: [EtcdPair] = []
            for json in range["kvs"]?.array ?? [] {
                guard let pair = EtcdPair(json) else { return nil }
                pairs.append(pair)
            }
            ranges.append(pairs)
        }
        let hasSucceeded = json["succeeded"]?.bool ?? false
        let wanted = (hasSucceeded ? success : failure).reduce(0) { if case .range = $1 { $0 + 1 } else { $0 } }
        guard ranges.count == wanted else { return nil }
        return Answer(hasSucceeded: hasSucceeded, header: header, ranges: ranges)
    }
}

extension EtcdTransaction.Operation {
    fileprivate func write(to json: inout JSONWriter) {
        json.beginObject()
        switch self {
        case .put(let key, let value, let lease):
            json.name(literal: "request_put")
            json.beginObject()
            json.member("key", base64: key)
            json.member("value", base64: value)
            if lease != 0 {
                json.name(literal: "lease")
                json.write(string: String(lease))
            }
        case .delete(let key, let end):
            json.name(literal: "request_delete_range")
            json.beginObject()
            json.member("key", base64: key)
            if let end { json.member("range_end", base64: end) }
        case .range(let range):
            json.name(literal: "request_range")
            json.beginObject()
            range.writeMembers(to: &json)
        }
        json.endObject()
        json.endObject()
    }
}

/// A request for a lease, with whose end its keys go.
struct EtcdLeaseGrant: EtcdCall, Equatable {
    var seconds: Int

    static let target = RequestTarget("v3", "lease", "grant")

    func write(to json: inout JSONWriter) {
        json.beginObject()
        json.name(literal: "TTL")
        json.write(string: String(seconds))
        json.endObject()
    }

    /// The name of the lease.
    func answer(_ json: JSONValue) -> Int64? { json["ID"]?.etcdInteger }
}

/// A call that asks a member if it leads the others.
struct EtcdLeadership: EtcdCall, Equatable {
    struct Answer: Equatable, Sendable {
        let leads: Bool
        /// The member's term. One that was cut off may lead in a term that is over.
        let term: Int64
    }

    static let target = RequestTarget("v3", "maintenance", "status")

    func write(to json: inout JSONWriter) {
        json.beginObject()
        json.endObject()
    }

    func answer(_ json: JSONValue) -> Answer? {
        guard let member = json["header"]?["member_id"]?.string, let term = json["header"]?["raft_term"]?.etcdInteger
        else { return nil }
        return Answer(leads: json["leader"]?.string == member, term: term)
    }
}

/// A request for a token.
struct EtcdAuthentication: EtcdCall, Equatable {
    var name: String
    var password: String

    static let target = RequestTarget("v3", "auth", "authenticate")

    func write(to json: inout JSONWriter) {
        json.beginObject()
        json.name(literal: "name")
        json.write(string: name)
        json.name(literal: "password")
        json.write(string: password)
        json.endObject()
    }

    func answer(_ json: JSONValue) -> String? { json["token"]?.string }
}

/// The request that begins a watch: all changes of the keys from `key` up to `end`, from a revision of etcd on.
struct EtcdWatchRequest: Equatable, Sendable {
    var key: String
    var end: String
    var revision: Int64

    static let target = RequestTarget("v3", "watch")

    func write(to json: inout JSONWriter) {
        json.beginObject()
        json.name(literal: "create_request")
        json.beginObject()
        json.member("key", base64: key)
        json.member("range_end", base64: end)
        json.name(literal: "start_revision")
        json.write(string: String(revision))
        json.endObject()
        json.endObject()
    }
}

/// A message of a watch.
enum EtcdWatchMessage: Equatable, Sendable {
    case created
    /// Keys that were put. Deletions are left out.
    case puts([EtcdPair])
    /// The watch is over: the revision was compacted, or the member cannot serve it.
    case cancelled(String)

    /// Reads a line of the stream; nil if it has another form.
    init?(_ json: JSONValue) {
        if let error = json["error"] {
            self = .cancelled(error["message"]?.string ?? error.string ?? "an error without a message")
            return
        }
        guard let result = json["result"] else { return nil }
        if result["canceled"]?.bool ?? false {
            self = .cancelled(
                result["cancel_reason"]?.string ?? result["compact_revision"]?.string.map { "compacted up to \($0)" }
                    ?? "it gave no reason")
        } else if result["created"]?.bool ?? false {
            self = .created
        } else {
            var pairs: [EtcdPair] = []
            // PUT is the zero of its type, which is left out.
            for event in result["events"]?.array ?? [] where (event["type"]?.string ?? "PUT") == "PUT" {
                guard let pair = event["kv"].flatMap({ EtcdPair($0) }) else { return nil }
                pairs.append(pair)
            }
            self = .puts(pairs)
        }
    }
}

extension EtcdPair {
    fileprivate init?(_ json: JSONValue) {
        guard let key = json["key"]?.string.flatMap({ Base64.decode($0) }).map({ String(decoding: $0, as: UTF8.self) }),
            let value = Base64.decode(json["value"]?.string ?? "")
        else { return nil }
        self.init(key: key, value: value)
    }
}

extension JSONValue {
    /// A 64-bit number, which the gateway writes as a string.
    fileprivate var etcdInteger: Int64? { string.flatMap { Int64($0) } ?? integer }
}

extension JSONWriter {
    fileprivate mutating func member(_ name: StaticString, base64 text: String) {
        member(name, base64: Array(text.utf8))
    }

    fileprivate mutating func member(_ name: StaticString, base64 bytes: [UInt8]) {
        self.name(literal: name)
        let quote = [UInt8(ascii: "\"")]
        let text = quote + Base64.encode(bytes) + quote
        write(rendered: text.span)
    }
}
