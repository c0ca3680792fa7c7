internal import Platform
internal import SettingsAPI
internal import SettingsEngine
internal import SettingsModel
internal import Synchronization

/// The sender of a request, as the credential of the request identifies it: a name and grants. A grant gives rights on
/// suites (named sets of settings) and keys. A request without a credential has the caller `anonymous`.
final class Caller: Sendable {
    enum Credential: Sendable {
        /// A token with this digest.
        case token(SHA256)
        case user(PeerUser)
        case none
    }

    /// The name of the caller: `token:ci`, `user:alice` or `anonymous`. A commit, which is a recorded change of
    /// settings, contains the name of the caller that made the change.
    let name: String
    let grants: Grants
    /// The grants, if the caller may not read everything; nil if the caller may read everything.
    var restrictedGrants: Grants? { grants.restrictedGrants }
    /// When the token expires; nil if the credential does not expire.
    let expires: Timestamp?
    let credential: Credential
    /// True if grants are configured for the credential. False for a caller that has only the grants of `anonymous`. A
    /// token might give that caller more rights, so a refused request gets 401 instead of 403.
    let hasOwnGrants: Bool
    /// True if a request has had the credential since ``TokenUsage`` last recorded which tokens were used.
    let wasUsed = Atomic(false)

    init(
        _ name: String, _ grants: Grants, _ credential: Credential, expires: Timestamp? = nil, hasOwnGrants: Bool = true
    ) {
        (self.name, self.grants, self.credential) = (name, grants, credential)
        (self.expires, self.hasOwnGrants) = (expires, hasOwnGrants)
    }

    func hasExpired(at now: Timestamp) -> Bool { expires.map { $0.milliseconds <= now.milliseconds } ?? false }

    /// The answer to `GET /v1/caller`.
    var state: CallerState {
        CallerState(name: name, grants: grants.list.map(\.description), expires: expires)
    }

    /// Throws 401 unless the caller has at least one grant.
    func demandAnyGrant() throws(Problem) {
        guard grants.list.isEmpty else { return }
        throw .unauthorized("the request needs a token; send the token as Authorization: Bearer TOKEN")
    }

    /// Throws 403 or 401 unless the caller has the right on the keys of the suite that the scope selects.
    func demand(_ right: Rights, on suite: SuiteName, _ scope: Grants.Scope) throws(Problem) {
        do throws(Problem) {
            try grants.demand(right, on: suite, scope)
        } catch {
            throw unauthorizedIfForbidden(error)
        }
    }

    /// Throws 403 or 401 unless the caller has the right, which concerns no suite, such as the right to read metrics.
    func demand(onService right: Rights) throws(Problem) {
        do throws(Problem) {
            try grants.demand(onService: right)
        } catch {
            throw unauthorizedIfForbidden(error)
        }
    }

    /// Returns 401 instead of 403 if no grants are configured for the caller's credential, because a token might allow
    /// the request.
    func unauthorizedIfForbidden(_ problem: Problem) -> Problem {
        guard problem.code == .forbidden, !hasOwnGrants else { return problem }
        var challenge = Problem.unauthorized(
            "\(problem.detail); send a token with the right as Authorization: Bearer TOKEN")
        challenge.pointer = problem.pointer
        return challenge
    }
}

extension Problem {
    /// The error for a credential that is missing or not valid.
    static func unauthorized(_ detail: String) -> Problem {
        Problem(.unauthorized, detail)
    }

    /// The error for a waiting request, such as a long poll, whose credential expires or gets other grants.
    static var credentialEnded: Problem {
        unauthorized("the credential expired, was revoked or got other grants while the request waited")
    }
}
