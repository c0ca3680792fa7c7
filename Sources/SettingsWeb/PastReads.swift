internal import HTTPWire
internal import SettingsAPI
package import SettingsEngine
internal import SettingsModel
package import SettingsStorage

/// Makes a reader of the history: of the recent commits in memory, and of the past files, which have the older commits.
package typealias PastSource = @Sendable (State) -> any PastReading

/// Reads of past versions of settings and suites, and of the list of commits. `restrictedGrants` are the grants of a
/// caller that may not read everything; nil if the caller may read everything. `request` contains ranges of `bytes`.
/// `recentPast` reads only the history in memory. `isUpperBound` means that most answers take far less memory than
/// estimated.
extension State {
    /// Returns a reader that also reads past files; if there is no source, a reader of the history in memory.
    func pastReader(_ source: PastSource?) -> any PastReading {
        source?(self) ?? recentPast
    }

    /// Answers a read of a past version of a setting or a suite.
    func pastRendering(
        _ reading: Reading, at moment: Moment, _ request: APIRequest, _ bytes: Span<UInt8>, _ source: PastSource?
    ) throws(Problem) -> Rendering {
        try pastRendering(at: moment, request, bytes, source) { suite, state, revision throws(Problem) in
            try reading.result(of: suite, at: Cursor(epoch: state.epoch, revision: revision), published: state.cursor)
        }
    }

    /// Answers a read of a past version of the suite in the path. The read always runs in the background, because it
    /// may have to undo the whole history, even for a small suite.
    ///
    /// - Parameters:
    ///   - moment: a revision or a time.
    ///   - source: makes a reader of past files; nil to read only the history in memory.
    ///   - read: makes the result from the past version, the current state, and the revision of the past version.
    func pastRendering(
        at moment: Moment, _ request: APIRequest, _ bytes: Span<UInt8>, _ source: PastSource?,
        _ read: @escaping @Sendable (Suite, State, Revision) throws(Problem) -> ReadResult
    ) throws(Problem) -> Rendering {
        let (name, restrictedGrants) = (try request.suite(in: bytes), request.caller?.restrictedGrants)
        let knownTags = try request.ifNoneMatch(in: bytes)
        let ifMatch = try request.ifMatch(in: bytes)
        let fileMemory = Service.pastFileMemory(source)
        let cost = { @Sendable limit in
            self.recentPast.renderingCost(ofPast: name, at: moment, within: limit)
                + Cost(microseconds: 0, bytes: fileMemory)
        }
        return Rendering(alwaysInBackground: true, isUpperBound: true, cost: cost) {
            do throws(Problem) {
                let reader = self.pastReader(source)
                let revision = try reader.revision(at: moment, of: name)
                guard let suite = try reader.suite(name, at: revision) else {
                    throw self.recentPast.unknownSuite(name, for: restrictedGrants, at: revision)
                }
                let result = try read(suite, self, revision)
                // `isMissing`: the past version has no value or no schema, so there is nothing to compare.
                if let ifMatch, let resourceRevision = result.tag?.revision, !result.isMissing {
                    try ifMatch.check(
                        "the requested resource as of revision \(revision)", revision: resourceRevision,
                        currentState: .suite(SuiteRevision(suite: name, revision: suite.revision)))
                }
                return result.answer(to: knownTags, self.cursor).make()
            } catch {
                return Response(error, cursor: self.cursor)
            }
        }
    }

    /// Lists the commits of a suite, the newest first. A page may take at most a quarter of `memoryBudget`: the memory
    /// in bytes for the bodies and answers of all requests.
    func history(
        _ request: APIRequest, _ bytes: Span<UInt8>, _ source: PastSource?, memoryBudget: Int
    ) throws(Problem) -> Rendering {
        var keys: [KeyName] = []
        for text in request.query.texts(.filterKey) {
            do {
                keys.append(try KeyName(text))
            } catch {
                throw Problem(error)
            }
        }
        let historyQuery = HistoryQuery(
            suite: try request.suite(in: bytes),
            filter: KeyFilter(keys: keys, prefixes: request.query.texts(.prefix)), by: request.query.text(.by),
            before: request.query.revision(.before), limit: request.query.count(.historyLimit) ?? 50,
            restrictedGrants: request.caller?.restrictedGrants,
            pageBytes: min(HistoryQuery.defaultPageBytes, memoryBudget / 4))
        let fileMemory = Service.pastFileMemory(source)
        let cost = { @Sendable limit in
            self.recentPast.renderingCost(of: historyQuery, within: limit) + Cost(microseconds: 0, bytes: fileMemory)
        }
        // Reading files, or searching for the commits of a filter, may take long even if the page is short.
        return Rendering(alwaysInBackground: source != nil || historyQuery.isFiltered, isUpperBound: true, cost: cost) {
            do throws(Problem) {
                let page = try self.pastReader(source).history(historyQuery)
                return Response(json: page.jsonBytes(), cursor: self.cursor)
            } catch {
                return Response(error, cursor: self.cursor)
            }
        }
    }

    /// Answers with the differences between two versions of a suite, which the parameters `from` and `to` select.
    func difference(_ request: APIRequest, _ bytes: Span<UInt8>, _ source: PastSource?) throws(Problem) -> Rendering {
        let (name, restrictedGrants) = (try request.suite(in: bytes), request.caller?.restrictedGrants)
        guard let from = request.query.moment(.from) else {
            throw Problem(
                .badRequest, "the parameter 'from' is missing; set it to the revision or the time to compare with")
        }
        let to = request.query.moment(.to) ?? .revision(revision)
        let fileMemory = Service.pastFileMemory(source)
        let cost = { @Sendable limit in
            self.recentPast.renderingCost(ofPast: name, at: from, within: limit)
                + self.recentPast.renderingCost(ofPast: name, at: to, within: limit)
                + Cost(microseconds: 0, bytes: fileMemory)
        }
        return Rendering(alwaysInBackground: true, isUpperBound: true, cost: cost) {
            do throws(Problem) {
                let found = try self.pastReader(source).difference(of: name, from: from, to: to, for: restrictedGrants)
                return Response(json: found.jsonBytes(), cursor: self.cursor)
            } catch {
                return Response(error, cursor: self.cursor)
            }
        }
    }
}
