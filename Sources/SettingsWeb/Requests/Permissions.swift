internal import HTTPWire
internal import Platform
internal import SettingsAPI
internal import SettingsEngine
internal import SettingsModel

/// What a request needs its caller to have been granted, as far as its method and path say.
enum Need {
    /// Nothing, not even a valid credential.
    case nothing
    /// Any grant. What the answer shows depends on the grants.
    case someGrant
    /// A right on the service as a whole.
    case service(Rights)
    /// A right on what the path names: the key or, without one, the suite as a whole, or at least one of its keys where the
    /// query or the body names those.
    case suite(Rights, isWhole: Bool = false)
}

extension Resource {
    /// The one table of rights. The query and the body may need more: see `APIRequest.checkGrants`.
    func need(of method: Method) -> Need {
        let isRead = method.isSafe || !allows(method)
        return switch self {
        case .health, .ready: .nothing
        case .service, .description, .caller, .suites, .observationOfSeveral, .transaction, .undoOfSeveral: .someGrant
        case .metrics, .cluster: .service(.metrics)
        case .reload: .service(.reload)
        case .backup: .service(.admin)
        case .suite: .suite(isRead ? .read : .write, isWhole: !isRead && method == .put)
        case .keys, .observation, .history, .difference, .evaluation, .evaluationOfAll, .evaluationEvents: .suite(.read)
        // What undoing takes depends on what the commit did.
        case .undo: .suite(.read)
        case .restore, .setting: .suite(isRead ? .read : .write)
        case .schema: .suite(isRead ? .read : .schema, isWhole: true)
        }
    }
}

extension AccessPolicy {
    /// Returns the caller of a request, once it has the rights that method and path need; nil where none is needed.
    /// Throws 401 or 403, whether there is such a path and such a method or not.
    ///
    /// - Parameter found: set to the caller once it is found, also if it is refused.
    func admit(
        _ head: RequestHead, _ bytes: Span<UInt8>, user: PeerUser?, recent: inout RecentTokens, found: inout Caller?
    ) throws(Problem) -> Caller? {
        let route = head.isServerWide ? nil : Route(head.path, in: bytes)
        let need = route?.resource.need(of: head.method) ?? .someGrant
        if case .nothing = need { return nil }
        if opensMetrics, route?.resource == .metrics { return nil }
        let caller = try caller(
            authorization: head.field(.authorization), key: head.field(.apiKey), in: bytes, from: user, recent: &recent,
            found: &found)
        switch need {
        case .nothing: break
        case .someGrant: try caller.demandAny()
        case .service(let right): try caller.demand(onService: right)
        case .suite(let right, let isWhole):
            try caller.demandAny()
            guard let route else { break }
            let suite = try route.suiteName(in: bytes)
            let isKey = route.key != nil
            let scope = isKey ? .key(try route.keyName(in: bytes).text) : isWhole ? Grants.Scope.all : .some
            try caller.demand(right, on: suite, scope)
        }
        return caller
    }
}

/// The rights that the query and the body need.
extension APIRequest {
    /// Throws 403 unless the caller has the rights that the query needs.
    func checkGrants(in bytes: Span<UInt8>) throws(Problem) {
        guard let caller, !method.isSafe, let suite = route.suite == nil ? nil : try suite(in: bytes) else { return }
        if route.resource == .suite, method == .delete {
            try caller.demand(.write, on: suite, query.text(.prefixToRemove).map { .prefix($0) } ?? .all)
            if query.flag(.drop) { try caller.demand(.schema, on: suite, .all) }
        }
        guard overridesLocks else { return }
        switch route.resource {
        case .setting: try caller.demand(.override, on: suite, .key(try key(in: bytes).text))
        case .suite where method == .patch, .undo, .restore: try caller.demand(.override, on: suite, .some)
        default: try caller.demand(.override, on: suite, .all)
        }
    }

    /// Throws 403 unless the caller has the rights on all that the body names. What undoing a commit takes is checked where
    /// that is decided.
    func checkGrants(_ command: WriteRequest.Command) throws(Problem) {
        guard let caller else { return }
        let rights: [Rights] = overridesLocks ? [.write, .override] : [.write]
        switch command {
        case .mergeSuite(let suite, let values):
            for name in values.names {
                for right in rights { try caller.demand(right, on: suite, .key(name)) }
            }
        case .transaction(let transaction):
            for (index, condition) in transaction.conditions.enumerated() {
                try within("if", index) { () throws(Problem) in
                    switch condition {
                    case .suite(let suite, _): try caller.demand(.read, on: suite, .some)
                    case .setting(let suite, let key, _): try caller.demand(.read, on: suite, .key(key.text))
                    }
                }
            }
            for (index, operation) in transaction.operations.enumerated() {
                try within("do", index) { () throws(Problem) in
                    for right in rights { try caller.demand(right, on: operation.suite, .key(operation.key.text)) }
                }
            }
        case .restore(let suite, let restore, _):
            for right in rights {
                for key in restore.keys ?? [] { try caller.demand(right, on: suite, .key(key.text)) }
                if restore.keys == nil {
                    try caller.demand(right, on: suite, restore.prefix.map { .prefix($0) } ?? .all)
                }
            }
        default: break
        }
    }

    var overridesLocks: Bool { query.text(.override) != nil }

    /// Does a check of one part of the body, whose place the error names.
    private func within(_ member: String, _ index: Int, _ check: () throws(Problem) -> Void) throws(Problem) {
        do throws(Problem) {
            try check()
        } catch {
            var problem = error
            problem.pointer = [member, String(index)]
            throw problem
        }
    }
}

extension WatchSubject {
    /// Throws 403 unless a caller may read each suite that is named.
    func checkGrants(of caller: Caller?) throws(Problem) {
        guard let caller else { return }
        for suite in suites { try caller.demand(.read, on: suite, .some) }
    }
}
