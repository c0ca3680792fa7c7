internal import HTTPWire
internal import Platform
internal import SettingsModel

/// The options for the connection to etcd, which stores the commit log of several daemons.
package struct EtcdOptions: Equatable, Sendable {
    /// The addresses of the members (servers) of etcd.
    package var endpoints: [EtcdEndpoint] = []
    /// The prefix of all keys of the log, without the slash that follows it in the keys.
    package var prefix = "settingsd"
    /// The path of the file with `NAME:PASSWORD`; nil if etcd requires no password.
    package var passwordFile: String?

    package init() {}

    /// True if a text is a valid prefix: 1 to 128 letters, digits and `._-/`, without a slash at either end.
    package static func isPrefix(_ text: String) -> Bool {
        let isPlain = text.utf8.allSatisfy { byte in
            (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte)
                || "._-/".utf8.contains(byte)
        }
        let slash = UInt8(ascii: "/")
        return isPlain && (1...128).contains(text.utf8.count) && text.utf8.first != slash && text.utf8.last != slash
    }
}

struct EtcdLeader: Equatable, Sendable {
    let endpoint: EtcdEndpoint
    /// The Raft term: the number of the election that the leader won.
    let term: Int64
    /// The time at which the search found the leader. The time makes the results of two searches unequal, so that
    /// ``EtcdClient/prefer(_:)`` follows the result of each search once.
    let discoveryTime: ContinuousClock.Instant
}

/// A client of etcd that tries the members one after another until a member answers.
///
/// A call blocks the calling thread until its deadline at most. If a member fails, the client switches to another
/// member. The client tries the failed member again after a pause that doubles with each failure and varies at random.
struct EtcdClient: Sendable {
    typealias Instant = ContinuousClock.Instant

    private struct Member: Sendable {
        let endpoint: EtcdEndpoint
        /// The number of failures since the last successful call.
        var failures = 0
        /// The end of the pause after a failure; nil if the client may call the member at any time.
        var pauseEnd: Instant?
    }

    /// The timeout of a call to one member. It is short so that time remains to try another member.
    private static let attemptTimeout = Duration.seconds(2)
    private static let maxPause = Duration.seconds(5)
    /// The timeout of the call that asks a member whether it is the leader.
    private static let leadershipTimeout = Duration.seconds(1)

    private var members: [Member]
    /// The index in ``members`` of the member that calls use.
    private var current = 0
    private let passwordFile: String?
    /// An open connection to the current member that no call uses; nil if there is none.
    private var connection: EtcdConnection?
    /// The authentication token; nil if etcd requires no password, or if the next call must request a token.
    private var token: String?
    /// The argument of the last call of ``prefer(_:)`` that named one of the `members`.
    private var preferred: EtcdLeader?

    init(_ options: EtcdOptions) {
        // The order is random, so that daemons with the same list do not all use the first member of the list.
        members = options.endpoints.shuffled().map { Member(endpoint: $0) }
        passwordFile = options.passwordFile
    }

    /// Calls a member and returns its answer. If the member cannot be reached or does not work, the client repeats the
    /// call with another member, provided that etcd did not execute the call or that the call is repeatable.
    ///
    /// - Parameter isRepeatable: true if executing the call twice has the same effect as executing it once.
    mutating func call<Call: EtcdCall>(
        _ call: Call, isRepeatable: Bool = false, by deadline: Instant
    ) throws(EtcdError) -> Call.Answer {
        var json = JSONWriter()
        call.write(to: &json)
        let body = json.bytes
        while true {
            do throws(EtcdError) {
                let answer = try send(Call.target, body, by: min(deadline, .now + Self.attemptTimeout))
                guard let parsed = call.parseAnswer(answer) else {
                    throw EtcdError(
                        outcome: .unknown,
                        description: "the answer of etcd to \(Call.target.text) lacks an expected JSON field")
                }
                members[current].failures = 0
                members[current].pauseEnd = nil
                return parsed
            } catch {
                let mayRepeat = error.cause == .memberFailed && (isRepeatable || error.outcome == .noEffect)
                if error.cause == .memberFailed { switchMember() }
                guard mayRepeat, case let start = earliestCallTime, start < deadline else { throw error }
                // Sleep until the pause ends: with the descriptor -1, the call waits only for the time.
                _ = PollSet.wait(for: .readable, on: -1, until: start)
            }
        }
    }

    /// Asks each member whether it is the leader. Returns the first member that leads in `term` or in a later term; nil
    /// if no member leads in one of these terms, or if the options name only one member.
    func findLeader(in term: Int64) -> EtcdLeader? {
        guard members.count > 1 else { return nil }
        for member in members {
            var client = self
            (client.members, client.current, client.connection) = ([member], 0, nil)
            guard let answer = try? client.call(EtcdLeadership(), by: .now + Self.leadershipTimeout) else { continue }
            if answer.isLeader, answer.term >= term {
                return EtcdLeader(endpoint: member.endpoint, term: answer.term, discoveryTime: .now)
            }
        }
        return nil
    }

    /// Switches to a leader. Returns true if the client used another member before. A second call with the same result
    /// of ``findLeader(in:)`` has no effect, so that the client does not switch back to an unreachable leader.
    @discardableResult
    mutating func prefer(_ leader: EtcdLeader) -> Bool {
        guard leader != preferred, let index = members.firstIndex(where: { $0.endpoint == leader.endpoint })
        else { return false }
        preferred = leader
        members[index].pauseEnd = nil
        guard index != current else { return false }
        (current, connection) = (index, nil)
        return true
    }

    /// Opens a watch on a separate connection. Sends the token of an earlier call and requests no token, so a call must
    /// succeed before, if etcd requires a password.
    mutating func watch(_ request: EtcdWatchRequest, by deadline: Instant) throws(EtcdError) -> EtcdWatch {
        var json = JSONWriter()
        request.write(to: &json)
        do throws(EtcdError) {
            return try EtcdWatch(
                json.bytes, on: EtcdConnection(to: members[current].endpoint, by: deadline), token: token, by: deadline)
        } catch {
            switchMember()
            throw error
        }
    }

    /// The time from which the client may call the current member. The time is in the future only if all members are in
    /// a pause after a failure, because ``switchMember()`` chooses the member whose pause ends first or has ended.
    private var earliestCallTime: Instant { members[current].pauseEnd ?? .now }

    /// Starts a pause of the current member, and switches to the member whose pause ends first or has ended.
    private mutating func switchMember() {
        connection = nil
        // If the cluster was created again, its members do not answer a request with a token of the old cluster.
        token = nil
        members[current].failures += 1
        let pause = min(.milliseconds(50) * (1 << min(members[current].failures, 10)), Self.maxPause)
        members[current].pauseEnd = .now + pause * Double.random(in: 0.5...1)
        let now = Instant.now
        let order = (1...members.count).map { (current + $0) % members.count }
        current = order.min { (members[$0].pauseEnd ?? now) < (members[$1].pauseEnd ?? now) } ?? 0
    }

    /// Sends a request and reads the answer. If etcd does not accept the token, tries again with a new token.
    private mutating func send(
        _ target: RequestTarget, _ body: [UInt8], by deadline: Instant
    ) throws(EtcdError) -> JSONValue {
        do throws(EtcdError) {
            return try exchange(target, body, by: deadline)
        } catch {
            // A token expires when the member restarts, and after a few minutes without use.
            guard error.cause == .token, passwordFile != nil else { throw error }
        }
        token = nil
        return try exchange(target, body, by: deadline)
    }

    private mutating func exchange(
        _ target: RequestTarget, _ body: [UInt8], by deadline: Instant
    ) throws(EtcdError) -> JSONValue {
        var connection = try takeConnection(by: deadline)
        if token == nil, let passwordFile {
            token = try Self.authenticate(with: passwordFile, on: &connection, by: deadline)
        }
        try connection.send(target, body, token: token, by: deadline)
        let response = try connection.readResponse(by: deadline)
        if !response.closes { self.connection = connection }
        return try connection.parseJSON(of: response)
    }

    /// Takes the connection of the last call, or opens a connection. After the answer, the calling code stores the
    /// connection in the property `connection` again.
    private mutating func takeConnection(by deadline: Instant) throws(EtcdError) -> EtcdConnection {
        if let open = connection.take(), open.isUsable { return open }
        return try EtcdConnection(to: members[current].endpoint, by: deadline)
    }

    private static func authenticate(
        with file: String, on connection: inout EtcdConnection, by deadline: Instant
    ) throws(EtcdError) -> String {
        let text: String
        do {
            let openFile = try OpenFile(file, .reading, in: POSIXFileSystem())
            guard try !openFile.status().isOpenToGroupOrOthers else {
                throw EtcdError(
                    outcome: .noEffect,
                    description: "cannot use \(file): other users may read the password; run chmod 600 \(file)")
            }
            text = String(decoding: try openFile.readAll(), as: UTF8.self)
        } catch let error as EtcdError {
            throw error
        } catch {
            throw EtcdError(outcome: .noEffect, description: "cannot read the password file for etcd: \(error)")
        }
        let parts = text.prefix { $0 != "\n" }.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2 else {
            throw EtcdError(
                outcome: .noEffect,
                description: "cannot use \(file): it has no password; write NAME:PASSWORD in its first line")
        }
        let call = EtcdAuthentication(name: String(parts[0]), password: String(parts[1]))
        var json = JSONWriter()
        call.write(to: &json)
        try connection.send(EtcdAuthentication.target, json.bytes, token: nil, by: deadline)
        let answer = try connection.parseJSON(of: try connection.readResponse(by: deadline))
        guard let token = call.parseAnswer(answer) else {
            throw connection.makeError(.noEffect, "the answer to the authentication request has no token")
        }
        return token
    }
}

/// A watch on keys of etcd. The member sends messages as lines. A chunk of the HTTP body may end within a line.
struct EtcdWatch: Sendable {
    /// The maximum length of a line. A longer line ends the watch with an error.
    private static let maxLineBytes = 64 << 20

    private var connection: EtcdConnection
    private var reader: ResponseReader
    /// The bytes of an incomplete line.
    private var pending: [UInt8] = []
    /// True after etcd has confirmed that the watch exists.
    private(set) var isCreated = false

    fileprivate init(
        _ body: [UInt8], on connection: EtcdConnection, token: String?, by deadline: ContinuousClock.Instant
    ) throws(EtcdError) {
        self.connection = connection
        reader = connection.makeReader()
        try connection.send(EtcdWatchRequest.target, body, token: token, needsLeader: true, by: deadline)
    }

    /// Waits for bytes, and returns the messages that they complete. Returns an empty array at the deadline, or if the
    /// waker becomes readable.
    ///
    /// - Parameter waker: a descriptor that ends the wait when it becomes readable; -1 for none.
    mutating func next(by deadline: ContinuousClock.Instant, waker: Int32) throws(EtcdError) -> [EtcdWatchMessage] {
        if let response = try connection.receive(&reader, by: deadline, waker: waker) {
            // The response to a watch is complete only if the member refuses or ends the watch.
            _ = try connection.parseJSON(of: response)
            throw connection.makeError(.unknown, "the member ended the watch", .memberFailed)
        }
        // Without the status 200, the head is not complete, or the body is not a message but an error. Once the
        // response with the error is complete, the code above throws.
        guard reader.status == 200 else { return [] }
        let searchedCount = pending.count
        pending += reader.removeReceivedBody()
        var messages: [EtcdWatchMessage] = []
        var start = 0
        var index = searchedCount
        while let end = pending[index...].firstIndex(of: UInt8(ascii: "\n")) {
            let line = pending[start..<end]
            (start, index) = (end + 1, end + 1)
            guard !line.isEmpty else { continue }
            guard let json = try? JSONValue(parsing: Array(line)), let message = EtcdWatchMessage(json) else {
                throw connection.makeError(.unknown, "a message of the watch lacks an expected JSON field")
            }
            if message == .created { isCreated = true }
            messages.append(message)
        }
        pending.removeSubrange(..<start)
        guard pending.count < Self.maxLineBytes else {
            throw connection.makeError(.unknown, "a message of the watch is too long")
        }
        return messages
    }
}
