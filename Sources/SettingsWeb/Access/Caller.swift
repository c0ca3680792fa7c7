internal import Platform
internal import SettingsAPI
internal import SettingsEngine
internal import SettingsModel
internal import Synchronization

/// A caller that presented a credential, or none: its name and its grants.
final class Caller: Sendable {
    enum Credential: Sendable {
        case token(SHA256)
        case user(PeerUser)
        case none
    }

    /// The name that its commits carry: `token:ci`, `user:alice` or `anonymous`.
    let name: String
    let grants: Grants
    /// The grants, unless they show everything.
    var reader: Grants? { grants.reader }
    let expires: Timestamp?
    let credential: Credential
    /// True if the credential is one that was granted something. Another one could do more, so 401 says so.
    let isKnown: Bool
    /// True if a request had the credential since ``TokenUsage`` last looked.
    let wasUsed = Atomic(false)

    init(_ name: String, _ grants: Grants, _ credential: Credential, expires: Timestamp? = nil, isKnown: Bool = true) {
        self.name = name
        self.grants = grants
        self.expires = expires
        self.credential = credential
        self.isKnown = isKnown
    }

    func hasExpired(at now: Timestamp) -> Bool {
        expires.map { $0.milliseconds <= now.milliseconds } ?? false
    }

    /// The answer to `GET /v1/caller`.
    var state: CallerState {
        CallerState(name: name, grants: grants.list.map(\.description), expires: expires)
    }

    /// Throws 401 unless the caller has at least one grant.
    func demandAny() throws(Problem) {
        guard grants.list.isEmpty else { return }
        throw .unauthorized("this takes a token: send it as Authorization: Bearer TOKEN")
    }

    /// Throws 403, or 401, unless the caller has a right on keys of a suite.
    func demand(_ right: Rights, on suite: SuiteName, _ scope: Grants.Scope) throws(Problem) {
        do throws(Problem) {
            try grants.demand(right, on: suite, scope)
        } catch {
            throw told(of: error)
        }
    }

    /// Throws 403, or 401, unless the caller has a right on the service as a whole.
    func demand(onService right: Rights) throws(Problem) {
        do throws(Problem) {
            try grants.demand(onService: right)
        } catch {
            throw told(of: error)
        }
    }

    /// Returns the problem to answer this caller with. One without a known credential is asked for it where another caller
    /// might be allowed.
    func told(of problem: Problem) -> Problem {
        guard problem.code == .forbidden, !isKnown else { return problem }
        var asking = Problem.unauthorized("\(problem.detail); send a token that has it as Authorization: Bearer TOKEN")
        asking.pointer = problem.pointer
        return asking
    }
}

extension Problem {
    /// The error for a credential that is missing or not valid.
    static func unauthorized(_ detail: String) -> Problem {
        Problem(.unauthorized, detail)
    }

    /// The error for a request that waited too long for its credential.
    static var credentialEnded: Problem {
        unauthorized("the credential ended, or was granted something else, while this waited")
    }
}
