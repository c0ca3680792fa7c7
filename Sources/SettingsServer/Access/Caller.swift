package import Platform
package import SettingsAPI
package import SettingsEngine
package import SettingsModel

/// A caller that presented a credential, or none: its name and its grants.
package final class Caller: Sendable {
    package enum Credential: Sendable {
        case token(SHA256)
        case user(PeerUser)
        case none
    }

    /// The name that its commits carry: `token:ci`, `user:alice` or `anonymous`.
    package let name: String
    package let grants: Grants
    /// The grants, unless they show everything.
    package let reader: Grants?
    package let expires: Timestamp?
    package let credential: Credential
    /// True if the credential is one that was granted something. Another one could do more, so 401 says so.
    package let isKnown: Bool

    package init(
        _ name: String, _ grants: Grants, _ credential: Credential, expires: Timestamp? = nil, isKnown: Bool = true
    ) {
        self.name = name
        self.grants = grants
        reader = grants.showEverything ? nil : grants
        self.expires = expires
        self.credential = credential
        self.isKnown = isKnown
    }

    package func hasExpired(at now: Timestamp) -> Bool {
        expires.map { $0.milliseconds <= now.milliseconds } ?? false
    }

    /// The answer to `GET /v1/caller`.
    package var state: CallerState { CallerState(name: name, grants: grants.list, expires: expires) }
}

/// What a caller may do is checked here, from names alone: an answer must not depend on what exists.
extension Caller {
    /// Throws unless the caller has a right on keys of a suite.
    package func demand(_ right: Rights, on suite: SuiteName, _ scope: Grants.Scope) throws(Problem) {
        guard !grants.allow(right, on: suite.text, scope) else { return }
        switch scope {
        case .key(let key):
            throw refusal(.needed(right, on: suite, key), "\(right.deed) \(key) of suite \(suite)")
        case .prefix(let prefix):
            throw refusal(
                .needed(right, on: suite, prefix + "*"),
                "\(right.deed) all keys of suite \(suite) that begin with \(prefix)")
        case .all: throw refusal(.needed(right, on: suite), "\(right.deed) the whole of suite \(suite)")
        case .some: throw refusal(.needed(right, on: suite), "\(right.deed) suite \(suite)")
        }
    }

    /// Throws unless the caller may look after the service.
    package func demandAdmin() throws(Problem) {
        guard !grants.allowAdmin else { return }
        throw refusal(.admin, "look after this daemon")
    }

    /// Throws unless the caller has at least one grant.
    package func demandAny() throws(Problem) {
        guard grants.list.isEmpty else { return }
        throw Problem.unauthorized("this needs a token: send it as Authorization: Bearer TOKEN")
    }

    /// The refusal to undo a commit of which the caller may not read all. It names nothing of it.
    package func refusal(toUndo revision: Revision) -> Problem {
        let detail =
            "this caller may not undo commit \(revision): not all that it did is the caller's to read, or it did nothing"
        return isKnown ? Problem(.forbidden, detail) : .unauthorized(detail)
    }

    private func refusal(_ missing: Grant, _ deed: String) -> Problem {
        guard !isKnown else { return Problem(missing: missing, to: deed) }
        return Problem.unauthorized("callers without a token may not \(deed); send one as Authorization: Bearer TOKEN")
    }
}

extension Rights {
    /// What the right lets a caller do, as a verb.
    fileprivate var deed: String {
        switch self {
        case .write: "write"
        case .schema: "change the schema of"
        case .override: "write locked keys of"
        case .secrets: "read the secrets of"
        default: "read"
        }
    }
}

extension Problem {
    /// The error for a credential that is missing or not valid.
    package static func unauthorized(_ detail: String) -> Problem {
        Problem(.unauthorized, detail)
    }

    /// The error for a request that waited too long for its credential.
    package static var credentialEnded: Problem {
        unauthorized("the credential ended, or was granted something else, while this waited")
    }
}
