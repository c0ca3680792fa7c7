internal import HTTPWire
internal import SettingsAPI
internal import SettingsEngine
internal import SettingsModel
internal import SettingsStorage

/// Lists of suites and keys, and reads of schemas. Each answer contains the cursor of the current state, which is its
/// epoch and revision. The cursor does not select a page of a list: the parameters `after` and `limit` do. `request`
/// contains ranges of `bytes`, the received bytes of the request.
extension State {
    /// The maximum number of suites on a page with dropped suites, which bounds the memory of a search in past files. A
    /// dropped suite no longer exists, but the history still has commits of it.
    private static let maximumWithDropped = 10_000

    /// Lists all suites, or a page of the list. `source` gives access to commits that are no longer in memory.
    func suites(_ request: APIRequest, _ source: PastSource?) -> Rendering {
        let includesDropped = request.query.flag(.dropped)
        let limit = min(request.query.count(.limit) ?? .max, includesDropped ? Self.maximumWithDropped : .max)
        // The grants of a caller that may not read everything; nil if the caller may read everything.
        let restrictedGrants = request.caller?.restrictedGrants
        let query = SuiteListQuery(
            prefix: request.query.text(.prefix) ?? "", after: request.query.text(.after), limit: limit,
            restrictedGrants: restrictedGrants)
        // The listing also visits suites that the caller may not see. If a grant of the caller is limited to some keys,
        // the listing visits all keys of the granted suites to count the visible keys.
        let countsKeys = restrictedGrants?.limitsKeys ?? false
        let visitedSuites = restrictedGrants == nil ? min(limit, suites.count) : suites.count
        let droppedCost =
            includesDropped
            ? limit * .listedSuite + Cost(microseconds: 0, bytes: Service.pastFileMemory(source)) : Cost.zero
        let cost = visitedSuites * .listedSuite + droppedCost
        return Rendering(alwaysInBackground: countsKeys || includesDropped, cost: { _ in cost }) {
            do throws(Problem) {
                var listing = self.listing(query)
                if includesDropped {
                    listing.insert(try self.pastReader(source).droppedSuites(query), limit: limit)
                }
                return Response(json: listing.jsonBytes(), cursor: self.cursor)
            } catch {
                return Response(error, cursor: self.cursor)
            }
        }
    }

    /// Lists all keys of a suite, or a page of the list. `source` gives access to commits that are no longer in memory.
    func keys(_ request: APIRequest, _ bytes: Span<UInt8>, _ source: PastSource?) throws(Problem) -> Rendering {
        let prefix = request.query.text(.prefix) ?? ""
        let after = request.query.text(.after)
        // A listing reads one key more than the limit, so the limit must be less than `Int.max`.
        let limit = request.query.count(.limit) ?? .max - 1
        let caller = request.caller
        // For a caller that may not read everything, the listing may have to visit all keys to fill a page.
        let visitedKeys = caller?.restrictedGrants == nil ? limit : .max - 1
        return try suiteRendering(
            request, bytes, source,
            cost: { $0.listingCost(prefix: prefix, after: after, limit: visitedKeys, within: $1) }
        ) { suite, state in
            let isPast = request.query.has(.at)
            let listing = suite.listing(
                prefix: prefix, after: after, limit: limit, for: caller, pendingIn: isPast ? nil : state)
            let tag = suite.listingTag(for: caller, pendingIn: isPast ? nil : state)
            return Response(json: listing.jsonBytes(), cursor: state.cursor, tag: tag)
        }
    }

    /// Lists the pending actions that the caller may see. Without pending actions, the empty list is rendered at once.
    func pendingActions(_ request: APIRequest) throws(Problem) -> Rendering {
        let restrictedGrants = request.caller?.restrictedGrants
        var suite: SuiteName?
        if let text = request.query.text(.pendingSuite) {
            do {
                suite = try SuiteName(text)
            } catch {
                throw Problem(error)
            }
        }
        // `.some` demands the right on at least one key of the suite.
        if let suite, let caller = request.caller { try caller.demand(.read, on: suite, .some) }
        let bytes = pending.size
        return Rendering(
            alwaysInBackground: hasPendingActions, cost: { _ in Cost(microseconds: 0, bytes: bytes) }
        ) { [suite] in
            Response(json: self.pendingListing(of: suite, for: restrictedGrants).jsonBytes(), cursor: self.cursor)
        }
    }

    /// Answers with one pending action. The search for the end of an action may visit the whole history.
    func pendingAction(_ id: PendingID, for caller: Caller?) -> Rendering {
        let restrictedGrants = caller?.restrictedGrants
        let bytes = pending[id]?.size ?? 0
        return Rendering(alwaysInBackground: pending[id] == nil, cost: { _ in Cost(microseconds: 0, bytes: bytes) }) {
            do throws(Problem) {
                let description = try self.pendingDescription(id, for: restrictedGrants)
                return Response(json: description.jsonBytes(), cursor: self.cursor)
            } catch {
                return Response(error, cursor: self.cursor)
            }
        }
    }

    /// Answers with the schema of a suite as it was sent; with the parameter `at`, with a past version. If the caller
    /// may not read all secrets, the schema omits each `default` and `examples` that may contain a secret.
    func schema(_ request: APIRequest, _ bytes: Span<UInt8>, _ source: PastSource?) throws(Problem) -> Rendering {
        let (name, restrictedGrants) = (try request.suite(in: bytes), request.caller?.restrictedGrants)
        if let moment = request.query.moment(.at) {
            return try pastRendering(at: moment, request, bytes, source) { suite, _, _ in
                Self.schema(of: suite, for: restrictedGrants, at: self.cursor)
            }
        }
        guard let suite = suite(name) else { throw unknownSuite(name, for: restrictedGrants) }
        let result = Self.schema(of: suite, for: restrictedGrants, at: cursor)
        // Without a schema (`isMissing`), the answer is an error that does not depend on preconditions.
        guard let schemaRevision = result.tag?.revision, !result.isMissing else { return result.rendering }
        try request.ifMatch(in: bytes)?.check(
            "the schema of suite \(name)", revision: schemaRevision,
            currentState: .suite(SuiteRevision(suite: name, revision: schemaRevision)))
        return result.answer(to: try request.ifNoneMatch(in: bytes), cursor)
    }

    private static func schema(of suite: Suite, for restrictedGrants: Grants?, at cursor: Cursor) -> ReadResult {
        guard let schema = suite.schema else {
            let problem = Problem(.noSchema, "suite \(suite.id) has no schema: it accepts any key with any value")
            let tag = EntityTag(suite.schemaRevision)
            return ReadResult(missing: Rendering(Response(problem, cursor: cursor, tag: tag)), tag: tag)
        }
        // Nil if the caller may see the whole schema.
        let redactionGrants = suite.hidesValuesInSchema(from: restrictedGrants) ? restrictedGrants : nil
        let tag = EntityTag(schema.revision, digest: redactionGrants?.digest)
        return ReadResult(tag: tag, cost: { .rendering(schema.schema.document, within: $0) }) {
            let body: [UInt8]
            if let redactionGrants {
                let shown = schema.schema.document(showing: { name in
                    !schema.schema.isSecret(name) || redactionGrants.allows(.secrets, on: suite.name, .key(name))
                })
                body = shown.bytes()
            } else {
                body = schema.schema.text.map { Array($0.utf8) } ?? schema.schema.document.bytes()
            }
            // Without redaction, the body has the bytes of the schema as they were received.
            return Response(verbatim: body, cursor: cursor, tag: tag)
        }
    }

    /// Answers with data about the suite in the path; with the parameter `at`, about a past version of the suite.
    /// Answers with 304 if the client has this version. `response` makes the answer from the suite and the current
    /// state.
    private func suiteRendering(
        _ request: APIRequest, _ bytes: Span<UInt8>, _ source: PastSource?,
        cost: @escaping @Sendable (Suite, Cost) -> Cost,
        _ response: @escaping @Sendable (Suite, State) -> Response
    ) throws(Problem) -> Rendering {
        let name = try request.suite(in: bytes)
        if let moment = request.query.moment(.at) {
            return try pastRendering(at: moment, request, bytes, source) { suite, state, _ in
                ReadResult(tag: suite.listingTag(for: request.caller, pendingIn: nil), cost: { _ in .zero }) {
                    response(suite, state)
                }
            }
        }
        guard let suite = suite(name) else { throw unknownSuite(name, for: request.caller?.restrictedGrants) }
        try request.ifMatch(in: bytes)?.check(suite: name, revision: suite.revision)
        let tag = suite.listingTag(for: request.caller, pendingIn: self)
        let result = ReadResult(tag: tag, cost: { cost(suite, $0) }) { response(suite, self) }
        return result.answer(to: try request.ifNoneMatch(in: bytes), cursor)
    }

    /// Lists the suites of a query, in ascending order.
    private func listing(_ query: SuiteListQuery) -> SuiteListing {
        var listing = SuiteListing(suites: [], revision: revision)
        forEachSuite(startingAt: query.start) { suite in
            guard suite.name.hasBytePrefix(query.prefix) else { return false }
            guard query.admits(suite.id) else { return true }
            guard listing.suites.count < query.limit else {
                listing.next = listing.suites.last?.suite
                return false
            }
            let counts = suite.counts(for: query.restrictedGrants)
            listing.suites.append(
                SuiteListing.Entry(
                    suite: suite.id, keyCount: Int64(counts.keys), invalidCount: Int64(counts.invalid),
                    revision: suite.revision, hasSchema: suite.schema != nil))
            return true
        }
        return listing
    }
}

extension SuiteListing {
    /// Adds dropped suites, each with its last commit, and ends the page at the limit.
    fileprivate mutating func insert(_ dropped: [SuiteName: Revision], limit: Int) {
        suites += dropped.map { suite, revision in
            Entry(suite: suite, keyCount: 0, invalidCount: 0, revision: revision, hasSchema: false, isDropped: true)
        }
        suites.sort { $0.suite < $1.suite }
        guard next != nil || suites.count > limit else { return }
        suites.removeLast(suites.count - limit)
        next = suites.last?.suite
    }
}

extension Suite {
    /// The entity tag of a page of keys. It depends on the grants, because the page shows only readable keys, and shows
    /// which keys are writable. It also depends on the pending actions of the suite in `state`, which is nil for a page
    /// of a past version.
    fileprivate func listingTag(for caller: Caller?, pendingIn state: State?) -> EntityTag {
        let tag = listingTag(for: caller)
        guard let state, state.hasPendingActions, state.pending.count(of: id) > 0 else { return tag }
        return tag.including("pending \(state.lastPendingChange)")
    }

    private func listingTag(for caller: Caller?) -> EntityTag {
        guard let grants = caller?.grants else { return EntityTag(revision) }
        let seesAndWritesAll = grants.restrictedGrants == nil && grants.allows(.write, on: name, .all)
        return EntityTag(revision, digest: seesAndWritesAll ? nil : grants.digest)
    }

    /// The cost of a page of keys. Every page visits all keys that the schema lists. The entry of each key contains the
    /// schema of the key, with the definitions to which it refers: at most the schema of the suite without
    /// `properties`. A rendered unit is one JSON value, or eight bytes of text. The rest of an entry counts as 16
    /// units.
    fileprivate func listingCost(prefix: String, after: String?, limit: Int, within maximumCost: Cost) -> Cost {
        var meter = CostMeter(within: maximumCost)
        let document = schema?.schema.document
        meter.add(document?["properties"], each: .renderedUnit)
        guard !meter.isExceeded else { return meter.cost }
        var costPerKey = 16 * Cost.renderedUnit
        for member in document?.object?.members ?? [] where member.name != "properties" {
            costPerKey += .rendering(member.value, within: maximumCost)
        }
        meter.add(min(schema?.schema.keys.count ?? 0, limit) * costPerKey)
        var remaining = limit
        let start = after.map { prefix.precedesInBytes($0) ? $0 : prefix } ?? prefix
        records.forEach(startingAt: start) { record in
            remaining -= 1
            guard remaining >= 0, record.name.hasBytePrefix(prefix) else { return false }
            meter.add(costPerKey)
            addRenderingCost(of: record, to: &meter)
            return !meter.isExceeded
        }
        return meter.cost
    }

    /// Lists the keys that begin with a prefix, in ascending order.
    ///
    /// A page ends at `limit` keys, or earlier at about 64 MB of text, because a schema that applies to many keys is
    /// repeated for each key.
    func listing(
        prefix: String, after: String?, limit: Int, for caller: Caller? = nil, pendingIn state: State? = nil
    ) -> KeyListing {
        let restrictedGrants = caller?.restrictedGrants
        let seesAll = restrictedGrants?.canReadAll(of: id) ?? true
        let page = keys(prefix: prefix, after: after, limit: limit) {
            seesAll || restrictedGrants?.canRead(id, $0) ?? true
        }
        // The extent of a JSON value is its number of units: about an eighth of the bytes of its text.
        var remainingExtent = 8 << 20
        var entries: [KeyListing.Entry] = []
        let hidesValues = hidesValuesInSchema(from: restrictedGrants)
        for record in page.records {
            let document = schema.flatMap { version in
                version.schema.key(record.name).map { key in
                    hidesValues
                        ? version.schema.standaloneDocument(of: key, showing: !isHidden(record, from: restrictedGrants))
                        : version.schema.standaloneDocument(of: key)
                }
            }
            // `shown` leaves out a secret value that the caller may not read.
            var setting = setting(record).shown(to: restrictedGrants)
            setting.pending = state?.pendingRevert(of: record)
            let entry = KeyListing.Entry(
                setting: setting, schema: document,
                isWritable: schemaAllows(record.key) && !isLocked(record.key)
                    && caller?.grants.allows(.write, on: name, .key(record.name)) ?? true)
            let fitsPage =
                (entry.schema ?? .null).subtractExtent(from: &remainingExtent)
                && (record.stored ?? .null).subtractExtent(from: &remainingExtent)
            guard fitsPage || entries.isEmpty else { break }
            entries.append(entry)
        }
        let hasMore = page.hasMore || entries.count < page.records.count
        return KeyListing(suite: id, revision: revision, keys: entries, next: hasMore ? entries.last?.setting.key : nil)
    }
}
