package import Platform
package import SettingsAPI
internal import SettingsEngine
internal import SettingsModel
internal import Synchronization

/// A policy that says who may do what: tokens, users of this machine, and callers without a credential.
///
/// It never changes. A reload makes another.
package final class AccessPolicy: Sendable {
    /// A user or group of this machine by number, with grants.
    package struct User: Sendable {
        package enum Kind: Hashable, Sendable {
            case user(UInt32)
            case group(UInt32)
        }

        let kind: Kind
        let grants: [Grant]

        package init(_ kind: Kind, _ grants: [Grant]) {
            self.kind = kind
            self.grants = grants
        }

        func matches(_ peer: PeerUser) -> Bool {
            switch kind {
            case .user(let id): peer.id == id
            case .group(let id): peer.groups.contains(id)
            }
        }
    }

    /// True if `/metrics` is for everyone.
    package let opensMetrics: Bool
    private let tokens: [(digest: SHA256, caller: Caller)]
    private let users: [User]
    private let anonymous: Caller
    private let clock: @Sendable () -> Timestamp
    /// The callers of users seen so far.
    private let seen = Mutex<[PeerID: Caller]>([:])

    private struct PeerID: Hashable {
        let id: UInt32
        let groups: [UInt32]
    }

    package init(
        tokens: [TokenFile.Token], users: [User] = [], anonymous: [Grant] = [], opensMetrics: Bool = false,
        clock: @escaping @Sendable () -> Timestamp
    ) {
        self.tokens = tokens.map { token in
            let grants = Grants(token.grants)
            let caller = Caller("token:\(token.name)", grants, .token(token.digest), expires: token.expires)
            return (token.digest, caller)
        }
        self.users = users
        self.anonymous = Caller("anonymous", Grants(anonymous), .none, isKnown: false)
        self.opensMetrics = opensMetrics
        self.clock = clock
    }

    /// Returns the caller behind a request. A token counts before the user of the socket. Throws 401 if the token is not
    /// valid, also where other callers need none.
    ///
    /// - Parameter field: where in the bytes the field `Authorization` stands; nil if it was not sent.
    package func caller(
        authorization field: Range<Int>?, in bytes: Span<UInt8>, from peer: PeerUser?
    ) throws(Problem) -> Caller {
        guard let field else { return peer.map(caller(of:)) ?? anonymous }
        let value = bytes.extracting(field)
        guard let token = Self.token(in: value) else {
            throw .unauthorized("the field Authorization must be the word Bearer and a token")
        }
        let digest = SHA256(value.extracting(token))
        var found: Caller?
        // All of them, so that the time does not tell which one it is.
        for known in tokens where known.digest == digest { found = known.caller }
        guard let found else {
            throw .unauthorized("the token is not known here; it may be revoked, or be for another daemon")
        }
        if let expires = found.expires, found.hasExpired(at: clock()) {
            throw .unauthorized("the token expired at \(expires); make another with settingsd token create")
        }
        return found
    }

    /// True if the credential of a caller is still valid and has the same grants.
    package func stillHolds(_ caller: Caller) -> Bool {
        guard !caller.hasExpired(at: clock()) else { return false }
        let now: Caller? =
            switch caller.credential {
            case .token(let digest): tokens.first { $0.digest == digest }?.caller
            case .user(let peer): self.caller(of: peer)
            case .none: anonymous
            }
        return now.map { $0.grants == caller.grants && $0.expires == caller.expires } ?? false
    }

    /// The nanoseconds until a caller's credential expires; nil if it does not.
    package func timeLeft(of caller: Caller) -> UInt64? {
        // At most some 140 years: more nanoseconds do not fit the integer.
        caller.expires.map { UInt64(min(max(0, $0.milliseconds - clock().milliseconds), 1 << 42)) * 1_000_000 }
    }

    private func caller(of peer: PeerUser) -> Caller {
        let id = PeerID(id: peer.id, groups: peer.groups)
        if let known = seen.withLock({ $0[id] }) { return known }
        let granted = users.filter { $0.matches(peer) }.flatMap(\.grants)
        let name = "user:\(peer.name)"
        let made =
            granted.isEmpty
            ? Caller(name, anonymous.grants, .user(peer), isKnown: false) : Caller(name, Grants(granted), .user(peer))
        seen.withLock { $0[id] = made }
        return made
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
