internal import HTTPWire
internal import Platform
internal import SettingsAPI
internal import SettingsEngine
internal import SettingsModel

/// The right that the method and the path of a request require. A grant gives a caller rights on suites and keys.
enum RequiredRight {
    /// The request needs no right and no valid credential.
    case nothing
    /// The caller needs at least one grant, whatever it permits. The answer shows only what the grants permit.
    case anyGrant
    /// The caller needs a right that does not concern suites, such as reading metrics.
    case service(Rights)
    /// The caller needs a right on the key in the path. If the path has no key, the caller needs the right on at least
    /// one key of the suite or, if `coversWholeSuite` is true, on the suite as a whole and all of its keys.
    case suite(Rights, coversWholeSuite: Bool = false)
}

extension Resource {
    /// The right for each resource and method. `APIRequest.checkGrants` checks the rights for the query and the body.
    func requiredRight(for method: Method) -> RequiredRight {
        // An unsupported method needs only the right to read, so that a caller with this right gets 405 and not 403.
        let isRead = method.isSafe || !allows(method)
        return switch self {
        case .health, .ready: .nothing
        // The decide stage checks the rights on the suites and keys that a pending action concerns.
        case .service, .apiDescription, .caller, .suites, .observationOfSuites, .transaction, .undoInSuites, .pending,
            .pendingAction:
            .anyGrant
        case .metrics, .cluster: .service(.metrics)
        case .reload: .service(.reload)
        case .backup: .service(.admin)
        // PUT replaces the values of all keys. `checkGrants` checks the rights on the keys of PATCH and DELETE.
        case .suite: .suite(isRead ? .read : .write, coversWholeSuite: !isRead && method == .put)
        // A client that watches a suite may report which state of the suite it has applied.
        case .keys, .observation, .clients, .client, .history, .difference, .evaluation, .evaluationOfAll,
            .evaluationEvents:
            .suite(.read)
        // The write rights for an undo depend on the undone commit. The decide stage, a thread that computes the commit
        // or the refusal of each write, checks these rights.
        case .undo: .suite(.read)
        case .restore, .setting: .suite(isRead ? .read : .write)
        case .schema: .suite(isRead ? .read : .schema, coversWholeSuite: true)
        }
    }
}

extension AccessPolicy {
    /// Returns the caller if it has the right that the method and the path require; nil if they require no right, or if
    /// the option `access.openMetrics` opens `/metrics` to everybody.
    /// Throws 401 or 403 if the caller lacks the right, even for an unknown path, so that the error does not reveal
    /// which paths exist.
    ///
    /// - Parameters:
    ///   - user: the user at the other end of a Unix domain socket; nil for another socket.
    ///   - recent: a cache of the tokens that were presented recently.
    ///   - identified: is set to the caller of the credential, even if the request is then refused.
    func admit(
        _ head: RequestHead, _ bytes: Span<UInt8>, user: PeerUser?, recent: inout RecentTokens,
        identified: inout Caller?
    ) throws(Problem) -> Caller? {
        // `OPTIONS *` is server-wide and has no path.
        let route = head.hasAsteriskForm ? nil : Route(head.path, in: bytes)
        let requirement = route?.resource.requiredRight(for: head.method) ?? .anyGrant
        if case .nothing = requirement { return nil }
        if opensMetrics, route?.resource == .metrics { return nil }
        let caller = try caller(
            authorization: head.field(.authorization), key: head.field(.apiKey), in: bytes, from: user, recent: &recent,
            identified: &identified)
        switch requirement {
        case .nothing: break
        case .anyGrant: try caller.demandAnyGrant()
        case .service(let right): try caller.demand(onService: right)
        case .suite(let right, let coversWholeSuite):
            try caller.demandAnyGrant()
            guard let route else { break }
            let suite = try route.suiteName(in: bytes)
            // In a path of `.client`, `route.key` is the name of a client.
            let isKey = route.key != nil && route.resource != .client
            let scope = isKey ? .key(try route.keyName(in: bytes).text) : coversWholeSuite ? Grants.Scope.all : .some
            try caller.demand(right, on: suite, scope)
        }
        return caller
    }
}

extension APIRequest {
    /// Throws 403 or 401 unless the caller has the rights that the query requires.
    func checkGrants(in bytes: Span<UInt8>) throws(Problem) {
        guard let caller, !method.isSafe, let suite = route.suite == nil ? nil : try suite(in: bytes) else { return }
        if route.resource == .suite, method == .delete {
            try caller.demand(.write, on: suite, query.text(.prefixToRemove).map { .prefix($0) } ?? .all)
            if query.flag(.drop) { try caller.demand(.schema, on: suite, .all) }
        }
        guard overridesLocks else { return }
        // `.some` demands the right on at least one key: the keys are in the body or, for an undo, in the undone
        // commit, so the rights on these keys are checked later.
        switch route.resource {
        case .setting: try caller.demand(.override, on: suite, .key(try key(in: bytes).text))
        case .suite where method == .patch, .undo, .restore: try caller.demand(.override, on: suite, .some)
        default: try caller.demand(.override, on: suite, .all)
        }
    }

    /// Throws 403 or 401 unless the caller has the rights on all suites and keys that the body names.
    func checkGrants(_ command: WriteCommand) throws(Problem) {
        guard let caller else { return }
        let rights: [Rights] = overridesLocks ? [.write, .override] : [.write]
        switch command {
        case .mergeSuite(let suite, let values):
            for name in values.names {
                for right in rights { try caller.demand(right, on: suite, .key(name)) }
            }
        case .transaction(let transaction):
            for (index, condition) in transaction.conditions.enumerated() {
                try checkElement(of: "if", at: index) { () throws(Problem) in
                    switch condition {
                    case .suite(let suite, _): try caller.demand(.read, on: suite, .some)
                    case .setting(let suite, let key, _): try caller.demand(.read, on: suite, .key(key.text))
                    }
                }
            }
            for (index, operation) in transaction.operations.enumerated() {
                try checkElement(of: "do", at: index) { () throws(Problem) in
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
        // The path and the query determine the keys of the other commands, and `admit` and the method above check them.
        // The decide stage checks an undo.
        default: break
        }
    }

    /// True if the request has `override=locked`, to write keys that the schema of the suite marks as locked.
    var overridesLocks: Bool { query.text(.override) != nil }

    /// Checks one element of an array in the body. An error gets a JSON Pointer to the element.
    private func checkElement(of member: String, at index: Int, _ check: () throws(Problem) -> Void) throws(Problem) {
        do throws(Problem) {
            try check()
        } catch {
            var problem = error
            problem.pointer = [member, String(index)]
            throw problem
        }
    }
}

/// The subject of a watch is the suites, keys and prefixes that the request names.
extension WatchSubject {
    /// Throws 403 or 401 unless the caller may read at least one key of each named suite.
    func checkGrants(of caller: Caller?) throws(Problem) {
        guard let caller else { return }
        for suite in suites { try caller.demand(.read, on: suite, .some) }
    }
}
