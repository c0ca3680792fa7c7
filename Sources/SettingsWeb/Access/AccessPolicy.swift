internal import Platform
package import SettingsAPI
package import SettingsEngine
internal import SettingsModel
internal import Synchronization

/// The options about who may do what.
package struct AccessOptions: Sendable {
    /// The path of the token file; nil for none.
    package var tokens: String?
    /// The grants of users and groups of Unix domain sockets by name, a group's after `%`.
    package var users: [(name: String, grants: [Grant])] = []
    /// The grants of callers without a credential.
    package var anonymous: [Grant] = []
    /// True if `/metrics` needs no credential.
    package var opensMetrics = false
    /// True if a source of the configuration has the member `access`, even without content.
    package var isPresent = false

    package init() {}

    /// True if callers need grants. Without access control every caller has full access.
    package var isConfigured: Bool { isPresent || tokens != nil || !users.isEmpty || !anonymous.isEmpty }
}

/// A policy that says who may do what: tokens, users of this machine, and callers without a credential.
///
/// It never changes. A reload makes another.
package final class AccessPolicy: Sendable {
    /// True if `/metrics` needs no credential.
    let opensMetrics: Bool
    /// Tokens by their digests, which are compared in constant time.
    private let tokens: [SHA256: Caller]
    private let tokenFile: String?
    /// The expiry times of tokens whose lifetime is longer than the notice, soonest first.
    private let expiries: [(name: String, time: Timestamp)]
    private let users: [UInt32: [Grant]]
    private let groups: [UInt32: [Grant]]
    private let anonymous: Caller
    private let clock: @Sendable () -> Timestamp

    package var hasTokenFile: Bool { tokenFile != nil }
    /// The number of tokens, and of users and groups, for the log.
    package var summary: String {
        func count(_ number: Int, _ noun: String) -> String { "\(number) \(noun)\(number == 1 ? "" : "s")" }
        return "\(count(tokens.count, "token")), \(count(users.count + groups.count, "user"))"
    }

    /// True if no caller can have a right.
    package var grantsNothing: Bool {
        tokens.isEmpty && users.isEmpty && groups.isEmpty && anonymous.grants.list.isEmpty
    }

    /// Reads the token file, and looks up users and groups.
    package init(_ options: AccessOptions, clock: @escaping @Sendable () -> Timestamp) throws(ConfigurationError) {
        tokenFile = options.tokens
        (tokens, expiries) = try Self.tokens(at: options.tokens)
        var (users, groups): ([UInt32: [Grant]], [UInt32: [Grant]]) = ([:], [:])
        for (name, grants) in options.users {
            if name.hasBytePrefix("%") {
                let group = String(name.dropFirst())
                let id = try Self.number(group, "group", SystemUsers.group)
                groups[id, default: []] += grants
            } else {
                users[try Self.number(name, "user", SystemUsers.id), default: []] += grants
            }
        }
        (self.users, self.groups) = (users, groups)
        anonymous = Caller("anonymous", Grants(options.anonymous), .none, isKnown: false)
        opensMetrics = options.opensMetrics
        self.clock = clock
    }

    /// Makes a copy of a policy with the tokens that its token file has now.
    package init(rereadingTokensOf policy: AccessPolicy) throws(ConfigurationError) {
        tokenFile = policy.tokenFile
        (tokens, expiries) = try Self.tokens(at: policy.tokenFile)
        (users, groups, anonymous) = (policy.users, policy.groups, policy.anonymous)
        (opensMetrics, clock) = (policy.opensMetrics, policy.clock)
    }

    private static func tokens(
        at path: String?
    ) throws(ConfigurationError) -> (tokens: [SHA256: Caller], expiries: [(name: String, time: Timestamp)]) {
        guard let path else { return ([:], []) }
        let list = try TokenFile(at: path).tokens
        let callers = list.map { token in
            Caller("token:\(token.name)", Grants(token.grants), .token(token.digest), expires: token.expires)
        }
        let expiries = list.compactMap { token -> (name: String, time: Timestamp)? in
            guard let time = token.expires,
                time.milliseconds - token.created.milliseconds > expiryNoticeMilliseconds
            else { return nil }
            return (token.name, time)
        }
        return (
            Dictionary(zip(list.map(\.digest), callers), uniquingKeysWith: { first, _ in first }),
            expiries.sorted { $0.time < $1.time }
        )
    }

    /// How long before the expiry of a token the daemon warns, in milliseconds.
    private static let expiryNoticeMilliseconds: Int64 = 7 * 86_400_000

    /// The soonest expiry that is still to come, of a token whose lifetime is longer than a week.
    var nextExpiry: Timestamp? {
        let now = clock()
        return expiries.first { $0.time > now }?.time
    }

    /// The warning about tokens that expire within a week; nil if there is none.
    package var expiryWarning: String? {
        let now = clock()
        let end = Timestamp(milliseconds: now.milliseconds + Self.expiryNoticeMilliseconds)
        let soon = expiries.filter { $0.time > now && $0.time <= end }
        guard !soon.isEmpty else { return nil }
        let names = soon.prefix(10).map { "\($0.name) at \($0.time)" }.joined(separator: ", ")
        let others = soon.count > 10 ? " and \(soon.count - 10) more" : ""
        return "tokens expire within 7 days: \(names)\(others); create new tokens with settingsd token create"
    }

    private static func number(
        _ name: String, _ kind: String, _ find: (String) -> UInt32?
    ) throws(ConfigurationError) -> UInt32 {
        if let id = UInt32(name) ?? find(name) { return id }
        throw ConfigurationError(
            "access.users: this machine has no \(kind) \(name)",
            remedy: "correct the name, or make the \(kind) first")
    }

    /// Returns the caller behind a request. A token counts before the user of the socket. Throws 401 if the token is not
    /// valid, also where other callers need none.
    ///
    /// - Parameters:
    ///   - field: the range of the field `Authorization` in the bytes; nil if it was not sent.
    ///   - key: the range of the field `X-API-Key`, which counts where there is no `Authorization`.
    ///   - recent: the tokens that the event loop knows already.
    ///   - found: set to the caller, also if its token has expired.
    func caller(
        authorization field: Range<Int>?, key: Range<Int>?, in bytes: Span<UInt8>, from peer: PeerUser?,
        recent: inout RecentTokens, found: inout Caller?
    ) throws(Problem) -> Caller {
        let caller = try findCaller(authorization: field, key: key, in: bytes, from: peer, recent: &recent)
        found = caller
        if let expires = caller.expires, caller.hasExpired(at: clock()) {
            throw .unauthorized("the token expired at \(expires); make another with settingsd token create")
        }
        // Event loops share the caller. Test first: a store at each request would make the cores contend for the cache
        // line.
        if !caller.wasUsed.load(ordering: .relaxed) { caller.wasUsed.store(true, ordering: .relaxed) }
        return caller
    }

    /// Returns the digests of the tokens that were used since the last call.
    func takeUsedTokens() -> [SHA256] {
        tokens.filter { $0.value.wasUsed.exchange(false, ordering: .relaxed) }.map(\.key)
    }

    func hasToken(_ digest: SHA256) -> Bool { tokens[digest] != nil }

    private func findCaller(
        authorization field: Range<Int>?, key: Range<Int>?, in bytes: Span<UInt8>, from peer: PeerUser?,
        recent: inout RecentTokens
    ) throws(Problem) -> Caller {
        guard let place = field ?? key else { return peer.map(caller(of:)) ?? anonymous }
        var token = bytes.extracting(place)
        if field != nil {
            guard let range = Self.token(in: token) else {
                throw .unauthorized("the field Authorization must be the word Bearer and a token")
            }
            token = token.extracting(range)
        }
        guard let found = recent.caller(of: token, find: { tokens[SHA256(token)] }) else {
            throw .unauthorized("the token is not known here; it may be revoked, or be for another daemon")
        }
        return found
    }

    /// True if the credential of a caller is still valid and has the same grants.
    func stillHolds(_ caller: Caller) -> Bool {
        guard !caller.hasExpired(at: clock()) else { return false }
        let now: Caller? =
            switch caller.credential {
            case .token(let digest): tokens[digest]
            case .user(let peer): self.caller(of: peer)
            case .none: anonymous
            }
        return now.map { $0.grants == caller.grants && $0.expires == caller.expires } ?? false
    }

    /// The nanoseconds until a caller's credential expires; nil if it does not.
    func timeLeft(of caller: Caller) -> UInt64? {
        // At most some 140 years: more nanoseconds do not fit the integer.
        caller.expires.map { UInt64(min(max(0, $0.milliseconds - clock().milliseconds), 1 << 42)) * 1_000_000 }
    }

    private func caller(of peer: PeerUser) -> Caller {
        let granted = (users[peer.id] ?? []) + peer.groups.flatMap { groups[$0] ?? [] }
        let isKnown = !granted.isEmpty
        return Caller(
            peer.callerName, isKnown ? Grants(granted) : anonymous.grants, .user(peer), isKnown: isKnown)
    }

    /// Finds the token in a field such as `Bearer abc`; nil if there is none.
    private static func token(in field: Span<UInt8>) -> Range<Int>? {
        let scheme: StaticString = "bearer "
        guard field.count > scheme.utf8CodeUnitCount else { return nil }
        let isBearer = scheme.withUTF8Buffer { word in word.indices.allSatisfy { field[$0] | 0x20 == word[$0] } }
        guard isBearer else { return nil }
        var start = scheme.utf8CodeUnitCount
        while start < field.count, field[start] == UInt8(ascii: " ") { start += 1 }
        for index in start..<field.count where field[index] <= 0x20 || field[index] >= 0x7F { return nil }
        return start < field.count ? start..<field.count : nil
    }
}

extension PeerUser {
    /// The user as the name of a caller, which commits carry.
    var callerName: String { "user:\(name)" }
}
