internal import Platform
package import SettingsAPI
package import SettingsEngine
internal import SettingsModel
internal import Synchronization

/// The options of access control, which limits what each caller (the sender of a request) may read and write.
package struct AccessOptions: Sendable {
    /// The path of the token file; nil if there is no token file.
    package var tokens: String?
    /// The grants of the users and groups of this machine, for callers that connect through a Unix domain socket. A
    /// grant gives rights on suites (named sets of settings) and keys. The name of a group begins with `%`.
    package var users: [(name: String, grants: [Grant])] = []
    /// The grants of callers without a credential.
    package var anonymous: [Grant] = []
    /// True if `/metrics` needs no credential.
    package var opensMetrics = false
    /// True if the configuration file has an `access` object, even an empty object, or if an environment variable or a
    /// command-line option sets an option of `access`.
    package var isPresent = false

    package init() {}

    /// True if access control is on, so that callers need grants. Otherwise every caller has full access.
    package var isConfigured: Bool { isPresent || tokens != nil || !users.isEmpty || !anonymous.isEmpty }
}

/// The grants of all callers: of tokens, of users of this machine, and of callers without a credential.
///
/// A policy is immutable. A reload of the configuration creates a new policy.
package final class AccessPolicy: Sendable {
    /// True if `/metrics` needs no credential.
    let opensMetrics: Bool
    /// The callers by the SHA-256 digest of their token. `==` of `SHA256` takes constant time.
    private let tokens: [SHA256: Caller]
    private let tokenFilePath: String?
    /// The expiry times of the tokens whose lifetime is longer than ``expiryNoticeMilliseconds``, the soonest first.
    /// Tokens with a shorter lifetime are left out: the warning about them would begin when they are created.
    private let expiries: [(name: String, time: Timestamp)]
    /// The grants by the numeric identifier of the user, or of the group.
    private let users: [UInt32: [Grant]]
    private let groups: [UInt32: [Grant]]
    private let anonymous: Caller
    private let clock: @Sendable () -> Timestamp

    package var hasTokenFile: Bool { tokenFilePath != nil }
    /// A text for the log, such as `12 tokens, 3 users, 1 group`.
    package var summary: String {
        func count(_ number: Int, _ noun: String) -> String { "\(number) \(noun)\(number == 1 ? "" : "s")" }
        return "\(count(tokens.count, "token")), \(count(users.count, "user")), \(count(groups.count, "group"))"
    }

    /// True if access control is on, but there are no tokens, no users or groups, and no grants for callers without a
    /// credential. Tokens without grants count as tokens.
    package var grantsNothing: Bool {
        tokens.isEmpty && users.isEmpty && groups.isEmpty && anonymous.grants.list.isEmpty
    }

    /// Reads the token file, and looks up the numeric identifiers of users and groups.
    package init(_ options: AccessOptions, clock: @escaping @Sendable () -> Timestamp) throws(ConfigurationError) {
        tokenFilePath = options.tokens
        (tokens, expiries) = try Self.tokens(at: options.tokens)
        var (users, groups): ([UInt32: [Grant]], [UInt32: [Grant]]) = ([:], [:])
        for (name, grants) in options.users {
            if name.hasBytePrefix("%") {
                let group = String(name.dropFirst())
                let id = try Self.identifier(group, "group", SystemUsers.group)
                groups[id, default: []] += grants
            } else {
                users[try Self.identifier(name, "user", SystemUsers.id), default: []] += grants
            }
        }
        (self.users, self.groups) = (users, groups)
        anonymous = Caller("anonymous", Grants(options.anonymous), .none, hasOwnGrants: false)
        opensMetrics = options.opensMetrics
        self.clock = clock
    }

    /// Copies a policy, but reads the tokens from the token file again.
    package init(rereadingTokensOf policy: AccessPolicy) throws(ConfigurationError) {
        tokenFilePath = policy.tokenFilePath
        (tokens, expiries) = try Self.tokens(at: policy.tokenFilePath)
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

    /// The next time at which a token expires; nil if no token will expire. Ignores tokens with a lifetime of a week or
    /// less.
    var nextExpiry: Timestamp? {
        let now = clock()
        return expiries.first { $0.time > now }?.time
    }

    /// The warning about tokens that expire within a week; nil if no token expires within a week. Ignores tokens with a
    /// lifetime of a week or less.
    package var expiryWarning: String? {
        let now = clock()
        let end = Timestamp(milliseconds: now.milliseconds + Self.expiryNoticeMilliseconds)
        let soon = expiries.filter { $0.time > now && $0.time <= end }
        guard !soon.isEmpty else { return nil }
        let names = soon.prefix(10).map { "\($0.name) at \($0.time)" }.joined(separator: ", ")
        let others = soon.count > 10 ? " and \(soon.count - 10) more" : ""
        return "tokens expire within 7 days: \(names)\(others); create new tokens with settingsd token create"
    }

    private static func identifier(
        _ name: String, _ kind: String, _ lookUp: (String) -> UInt32?
    ) throws(ConfigurationError) -> UInt32 {
        if let id = UInt32(name) ?? lookUp(name) { return id }
        throw ConfigurationError(
            "access.users: this machine has no \(kind) \(name)",
            remedy: "correct the name, or create the \(kind) first")
    }

    /// Returns the caller of a request. A token takes precedence over the user of a Unix domain socket. Throws 401 if
    /// the token is not valid, even if the same request would be allowed without a token.
    ///
    /// - Parameters:
    ///   - field: the range in `bytes` of the field `Authorization`; nil if the request does not have the field.
    ///   - key: the range of the field `X-API-Key`, which is used only if the request does not have the field
    ///     `Authorization`.
    ///   - user: the user that the kernel reports for a Unix domain socket; nil for other sockets.
    ///   - recent: the event loop's cache of recently used tokens.
    ///   - identified: set to the caller of the request, even if this method throws because the token has expired.
    func caller(
        authorization field: Range<Int>?, key: Range<Int>?, in bytes: Span<UInt8>, from user: PeerUser?,
        recent: inout RecentTokens, identified: inout Caller?
    ) throws(Problem) -> Caller {
        let caller = try findCaller(authorization: field, key: key, in: bytes, from: user, recent: &recent)
        identified = caller
        if let expires = caller.expires, caller.hasExpired(at: clock()) {
            throw .unauthorized("the token expired at \(expires); create a new token with settingsd token create")
        }
        // All event loops share the caller. Setting the flag for each request would make the cores contend for the
        // cache line of the flag.
        if !caller.wasUsed.load(ordering: .relaxed) { caller.wasUsed.store(true, ordering: .relaxed) }
        return caller
    }

    /// Returns the digests of the tokens that were used since the last call of this method.
    func removeUsedTokens() -> [SHA256] {
        tokens.filter { $0.value.wasUsed.exchange(false, ordering: .relaxed) }.map(\.key)
    }

    func hasToken(_ digest: SHA256) -> Bool { tokens[digest] != nil }

    private func findCaller(
        authorization field: Range<Int>?, key: Range<Int>?, in bytes: Span<UInt8>, from user: PeerUser?,
        recent: inout RecentTokens
    ) throws(Problem) -> Caller {
        guard let range = field ?? key else { return user.map(caller(of:)) ?? anonymous }
        let value = bytes.extracting(range)
        let found = try recent.caller(of: field == nil ? .apiKey : .authorization, value) { () throws(Problem) in
            var token = value
            if field != nil {
                guard let range = Self.token(in: value) else {
                    throw .unauthorized("the field Authorization must be the word Bearer and a token")
                }
                token = value.extracting(range)
            }
            return tokens[SHA256(token)]
        }
        guard let found else {
            throw .unauthorized(
                "the daemon does not know the token; it may be revoked, belong to another daemon, or be newer than the "
                    + "last reload of the configuration, which reads the token file")
        }
        return found
    }

    /// True if the credential of a caller is still valid, with the same grants and the same expiry.
    func isCredentialValid(of caller: Caller) -> Bool {
        guard !caller.hasExpired(at: clock()) else { return false }
        let current: Caller? =
            switch caller.credential {
            case .token(let digest): tokens[digest]
            case .user(let user): self.caller(of: user)
            case .none: anonymous
            }
        return current.map { $0.grants == caller.grants && $0.expires == caller.expires } ?? false
    }

    /// The nanoseconds until the credential of a caller expires; nil if the credential does not expire.
    func nanosecondsUntilExpiry(of caller: Caller) -> UInt64? {
        // Limited to about 140 years, so that the number of nanoseconds fits into the integer.
        caller.expires.map { UInt64(min(max(0, $0.milliseconds - clock().milliseconds), 1 << 42)) * 1_000_000 }
    }

    /// Returns the caller for a user. A user without grants gets the grants of callers without a credential.
    private func caller(of user: PeerUser) -> Caller {
        let granted = (users[user.id] ?? []) + user.groups.flatMap { groups[$0] ?? [] }
        let hasOwnGrants = !granted.isEmpty
        return Caller(
            user.callerName, hasOwnGrants ? Grants(granted) : anonymous.grants, .user(user), hasOwnGrants: hasOwnGrants)
    }

    /// Returns the range of the token in `Bearer abc`, ignoring the case of `Bearer`; nil for another format.
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
    /// The name of the caller in the commits of this user, such as `user:alice`.
    var callerName: String { "user:\(name)" }
}
