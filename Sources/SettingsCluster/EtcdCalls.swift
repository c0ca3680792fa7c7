internal import HTTPWire
internal import SettingsAPI
internal import SettingsModel

/// A call of the JSON gateway of etcd, and the type of its answer.
///
/// The gateway ignores JSON fields with unknown names, so it would not check a condition with a misspelt name.
/// Therefore only the types in this file write request bodies, and tests compare the bytes.
protocol EtcdCall: Sendable {
    associatedtype Answer: Sendable

    static var target: RequestTarget { get }
    func write(to json: inout JSONWriter)
    /// Parses an answer; nil if JSON fields are missing. The gateway omits fields that are zero, false or empty.
    func parseAnswer(_ json: JSONValue) -> Answer?
}

struct EtcdPair: Equatable, Sendable {
    let key: String
    let value: [UInt8]
}

/// A read of one key or, with `end`, of all keys from `key` up to but not including `end`.
struct EtcdRange: Equatable, Sendable {
    var key: String
    var end: String?
    /// The maximum number of keys; nil for all keys.
    var limit: Int?
    /// True to omit the values in the answer.
    var omitsValues = false
    /// Only keys that were written after this revision of the etcd database; 0 for all keys.
    var writtenAfter: Int64 = 0

    fileprivate func writeMembers(to json: inout JSONWriter) {
        json.member("key", base64: key)
        if let end { json.member("range_end", base64: end) }
        if let limit { json.member("limit", String(limit)) }
        if omitsValues { json.member("keys_only", true) }
        if writtenAfter > 0 { json.member("min_mod_revision", String(writtenAfter + 1)) }
    }
}

struct EtcdHeader: Equatable, Sendable {
    /// The identity of the etcd cluster.
    let cluster: String
    /// The revision of the etcd database at which etcd executed the call. It is not a revision of the settings.
    let revision: Int64
    /// The Raft term: the number of the election that the current leader won.
    let term: Int64

    fileprivate init?(_ json: JSONValue) {
        guard let cluster = json["cluster_id"]?.string, let revision = json["revision"]?.etcdInteger,
            let term = json["raft_term"]?.etcdInteger
        else { return nil }
        (self.cluster, self.revision, self.term) = (cluster, revision, term)
    }
}

/// A transaction: etcd atomically executes `success` if every condition holds, otherwise `failure`.
struct EtcdTransaction: EtcdCall, Equatable {
    struct Condition: Equatable, Sendable {
        var key: String
        /// The value that the key must have; nil if it must not exist.
        var value: [UInt8]?
    }

    enum Operation: Equatable, Sendable {
        /// Stores a value under a key. If `lease` is not 0, etcd deletes the key when the lease expires.
        case put(String, [UInt8], lease: Int64 = 0)
        /// Deletes a key or, with `to`, all keys from the first key up to but not including the second.
        case delete(String, to: String? = nil)
        case range(EtcdRange)
    }

    struct Answer: Equatable, Sendable {
        /// True if all conditions held, so that etcd executed `success`; false if etcd executed `failure`.
        let conditionsHeld: Bool
        let header: EtcdHeader
        /// The results of the range operations that were executed, in the order of the operations.
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
            json.member("result", "EQUAL")
            json.member("target", condition.value == nil ? "CREATE" : "VALUE")
            if let value = condition.value {
                json.member("value", base64: value)
            } else {
                // A key that does not exist has the create revision 0.
                json.member("create_revision", "0")
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

    func parseAnswer(_ json: JSONValue) -> Answer? {
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
        let conditionsHeld = json["succeeded"]?.bool ?? false
        // A result that is missing would change the positions of the results after it.
        let expectedCount = (conditionsHeld ? success : failure).reduce(0) {
            if case .range = $1 { $0 + 1 } else { $0 }
        }
        guard ranges.count == expectedCount else { return nil }
        return Answer(conditionsHeld: conditionsHeld, header: header, ranges: ranges)
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
            if lease != 0 { json.member("lease", String(lease)) }
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

/// A request for a lease. When the lease expires, etcd deletes the keys that were stored with it.
struct EtcdLeaseGrant: EtcdCall, Equatable {
    var seconds: Int

    static let target = RequestTarget("v3", "lease", "grant")

    func write(to json: inout JSONWriter) {
        json.beginObject()
        json.member("TTL", String(seconds))
        json.endObject()
    }

    /// Returns the identifier of the lease.
    func parseAnswer(_ json: JSONValue) -> Int64? { json["ID"]?.etcdInteger }
}

/// A call that asks a member (a server of etcd) whether it is the leader.
struct EtcdLeadership: EtcdCall, Equatable {
    struct Answer: Equatable, Sendable {
        let isLeader: Bool
        /// The Raft term of the member. A member without a connection to the other members may report that it leads an
        /// earlier term.
        let term: Int64
    }

    static let target = RequestTarget("v3", "maintenance", "status")

    func write(to json: inout JSONWriter) {
        json.beginObject()
        json.endObject()
    }

    func parseAnswer(_ json: JSONValue) -> Answer? {
        guard let member = json["header"]?["member_id"]?.string, let term = json["header"]?["raft_term"]?.etcdInteger
        else { return nil }
        return Answer(isLeader: json["leader"]?.string == member, term: term)
    }
}

struct EtcdAuthentication: EtcdCall, Equatable {
    var name: String
    var password: String

    static let target = RequestTarget("v3", "auth", "authenticate")

    func write(to json: inout JSONWriter) {
        json.beginObject()
        json.member("name", name)
        json.member("password", password)
        json.endObject()
    }

    func parseAnswer(_ json: JSONValue) -> String? { json["token"]?.string }
}

/// The request for a watch: for all puts and deletions of keys from `key` up to but not including `end`, at the given
/// revision of the etcd database and later.
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
        json.member("start_revision", String(revision))
        json.endObject()
        json.endObject()
    }
}

/// A message that etcd sends on a watch.
enum EtcdWatchMessage: Equatable, Sendable {
    case created
    /// These values were stored. Deletions are omitted.
    case puts([EtcdPair])
    /// The watch has ended for this reason, for example because etcd has compacted (forgotten) the start revision.
    case cancelled(String)

    /// Parses a line of the watch stream; nil if it lacks expected JSON fields.
    init?(_ json: JSONValue) {
        if let error = json["error"] {
            self = .cancelled(error["message"]?.string ?? error.string ?? "an error without a message")
            return
        }
        guard let result = json["result"] else { return nil }
        if result["canceled"]?.bool ?? false {
            self = .cancelled(
                result["cancel_reason"]?.string ?? result["compact_revision"]?.string.map { "compacted up to \($0)" }
                    ?? "etcd gave no reason")
        } else if result["created"]?.bool ?? false {
            self = .created
        } else {
            var pairs: [EtcdPair] = []
            // The gateway omits PUT, because it is the zero value of the event type.
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
    /// A 64-bit integer. The gateway writes it as a string.
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
