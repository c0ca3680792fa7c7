internal import HTTPWire
internal import SettingsAPI
package import SettingsEngine
internal import SettingsModel
package import SettingsStorage

/// A function that makes a reader of the past that reaches further back than a state.
package typealias PastSource = @Sendable (State) -> any PastReading

/// Reads of the past.
extension State {
    /// The reader of the past that reaches further back, if there is one.
    private func reaching(_ source: PastSource?) -> any PastReading {
        source?(self) ?? recentPast
    }

    /// Answers a read of a setting or a suite as it was.
    func past(
        _ reading: Reading, at moment: Moment, _ request: APIRequest, _ bytes: Span<UInt8>, _ source: PastSource?
    ) throws(Problem) -> Rendering {
        try past(at: moment, request, bytes, source) { suite, state, place throws(Problem) in
            try reading.result(of: suite, at: Cursor(epoch: state.epoch, revision: place), now: state.cursor)
        }
    }

    /// Answers a read of the suite in the path as it was. However small the suite is, the whole history may have to be
    /// undone: not on the loop.
    func past(
        at moment: Moment, _ request: APIRequest, _ bytes: Span<UInt8>, _ source: PastSource?,
        _ read: @escaping @Sendable (Suite, State, Revision) throws(Problem) -> ReadResult
    ) throws(Problem) -> Rendering {
        let (name, reader) = (try request.suite(in: bytes), request.caller?.reader)
        let known = try request.ifNoneMatch(in: bytes)
        let wanted = try request.ifMatch(in: bytes)
        let ofFiles = Service.memory(ofPast: source)
        let cost = { @Sendable limit in
            self.recentPast.renderingCost(ofPast: name, at: moment, within: limit)
                + Cost(microseconds: 0, bytes: ofFiles)
        }
        return Rendering(searchesHistory: true, isUpperBound: true, cost: cost) {
            do throws(Problem) {
                let view = self.reaching(source)
                let place = try view.revision(at: moment, of: name)
                guard let suite = try view.suite(name, at: place) else {
                    throw self.recentPast.unknownSuite(name, for: reader, at: place)
                }
                let result = try read(suite, self, place)
                if let wanted, let tag = result.tag?.revision, !result.isRefusal {
                    try wanted.check(
                        "what was asked for, as of revision \(place),", at: tag,
                        current: .suite(SuiteRevision(suite: name, revision: suite.revision)))
                }
                return result.answer(to: known, self.cursor).make()
            } catch {
                return Response(error, cursor: self.cursor)
            }
        }
    }

    /// Lists the commits of a suite, the newest first.
    ///
    /// - Parameter budget: the memory of all requests. A page takes at most a quarter of it.
    func history(
        _ request: APIRequest, _ bytes: Span<UInt8>, _ source: PastSource?, budget: Int
    ) throws(Problem) -> Rendering {
        var keys: [KeyName] = []
        for text in request.query.texts(.watchedKey) {
            do {
                keys.append(try KeyName(text))
            } catch {
                throw Problem(error)
            }
        }
        let question = HistoryQuestion(
            suite: try request.suite(in: bytes),
            filter: KeyFilter(keys: keys, prefixes: request.query.texts(.prefix)), by: request.query.text(.by),
            before: request.query.revision(.before), limit: request.query.count(.historyLimit) ?? 50,
            reader: request.caller?.reader, pageBytes: min(HistoryQuestion.defaultPageBytes, budget / 4))
        let ofFiles = Service.memory(ofPast: source)
        let cost = { @Sendable limit in
            self.recentPast.renderingCost(of: question, within: limit) + Cost(microseconds: 0, bytes: ofFiles)
        }
        return Rendering(searchesHistory: source != nil || question.isFiltered, isUpperBound: true, cost: cost) {
            do throws(Problem) {
                let page = try self.reaching(source).history(question)
                return Response(json: page.jsonBytes(), cursor: self.cursor)
            } catch {
                return Response(error, cursor: self.cursor)
            }
        }
    }

    /// Compares two places in the history of a suite.
    func difference(_ request: APIRequest, _ bytes: Span<UInt8>, _ source: PastSource?) throws(Problem) -> Rendering {
        let (name, reader) = (try request.suite(in: bytes), request.caller?.reader)
        guard let from = request.query.moment(.from) else {
            throw Problem(.badRequest, "the parameter from is missing: a revision, or an instant, to compare with")
        }
        let to = request.query.moment(.to) ?? .revision(revision)
        let ofFiles = Service.memory(ofPast: source)
        let cost = { @Sendable limit in
            self.recentPast.renderingCost(ofPast: name, at: from, within: limit)
                + self.recentPast.renderingCost(ofPast: name, at: to, within: limit)
                + Cost(microseconds: 0, bytes: ofFiles)
        }
        return Rendering(searchesHistory: true, isUpperBound: true, cost: cost) {
            do throws(Problem) {
                let found = try self.reaching(source).difference(of: name, from: from, to: to, for: reader)
                return Response(json: found.jsonBytes(), cursor: self.cursor)
            } catch {
                return Response(error, cursor: self.cursor)
            }
        }
    }
}
