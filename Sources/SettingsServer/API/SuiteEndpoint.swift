internal import HTTPWire
internal import SettingsModel

/// Reading suites: all of them by name, one of them whole, its keys.
struct SuiteEndpoint {
    let store: Store

    /// The names of the suites with what is known of each.
    func list(_ incoming: Incoming) throws(Problem) -> Response {
        let state = store.state
        let prefix = incoming.query.text(.prefix) ?? ""
        let after = incoming.query.text(.afterSuite)
        let limit = incoming.query.count(.limit) ?? Int.max
        var listing = SuiteListing(suites: [], revision: state.revision)
        let start = after.map { prefix.precedesInBytes($0) ? $0 : prefix } ?? prefix
        state.suites.forEach(startingAt: start) { suite in
            guard suite.name.hasBytePrefix(prefix) else { return false }
            if let after, !after.precedesInBytes(suite.name) { return true }
            guard listing.suites.count < limit else {
                listing.next = listing.suites.last?.suite
                return false
            }
            listing.suites.append(
                SuiteListing.Entry(
                    suite: suite.id, keyCount: Int64(suite.keyCount), revision: suite.revision,
                    hasSchema: suite.schema != nil))
            return true
        }
        return Response(json: listing.jsonBytes(), cursor: state.cursor)
    }

    /// The values of a suite.
    func get(_ incoming: Incoming, _ bytes: Span<UInt8>) throws(Problem) -> Response {
        let (suite, state) = try suite(incoming, bytes)
        if try incoming.isNotModified(suite.revision, in: bytes) {
            return Response(notModified: suite.revision, cursor: state.cursor)
        }
        let view = incoming.query.text(.view).flatMap { SuiteView(rawValue: $0) } ?? .effective
        let contents = suite.contents(view: view, prefix: incoming.query.text(.prefix) ?? "")
        if incoming.query.flag(.raw) {
            return Response(json: contents.values.jsonBytes(), cursor: state.cursor, tag: suite.revision)
        }
        let moment = incoming.query.revision(.at) ?? state.revision
        let answer = SuiteState(
            contents: contents, revision: suite.revision, cursor: Cursor(epoch: state.epoch, revision: moment))
        return Response(json: answer.jsonBytes(), cursor: state.cursor, tag: suite.revision)
    }

    /// The keys of a suite with all that is known of each.
    func keys(_ incoming: Incoming, _ bytes: Span<UInt8>) throws(Problem) -> Response {
        let (suite, state) = try suite(incoming, bytes)
        if try incoming.isNotModified(suite.revision, in: bytes) {
            return Response(notModified: suite.revision, cursor: state.cursor)
        }
        var after: KeyName?
        if let text = incoming.query.text(.afterKey) {
            do {
                after = try KeyName(text)
            } catch {
                throw Problem(.badRequest, "after: \(error.description)")
            }
        }
        let page = suite.keys(
            prefix: incoming.query.text(.prefix) ?? "", after: after, limit: incoming.query.count(.limit) ?? Int.max - 1
        )
        let entries = page.records.map { record in
            let schema = suite.schema?.schema.key(record.name)
            return KeyListing.Entry(
                setting: suite.setting(record), schema: schema?.document, isWritable: !(schema?.isLocked ?? false))
        }
        let listing = KeyListing(
            suite: suite.id, revision: suite.revision, keys: entries, next: page.hasMore ? page.records.last?.key : nil)
        return Response(json: listing.jsonBytes(), cursor: state.cursor, tag: suite.revision)
    }

    /// The suite that the path names, as it is or as it was.
    private func suite(_ incoming: Incoming, _ bytes: Span<UInt8>) throws(Problem) -> (Suite, State) {
        let name = try incoming.suite(in: bytes)
        let state = store.state
        let suite =
            if let moment = incoming.query.revision(.at) { try state.suite(name, at: moment) } else {
                state.suite(name)
            }
        guard let suite else { throw state.unknownSuite(name) }
        return (suite, state)
    }
}

extension [SuiteContents.Entry] {
    /// The bare map.
    fileprivate func jsonBytes() -> [UInt8] {
        var writer = JSONWriter()
        writer.beginObject()
        for entry in self {
            writer.name(entry.key.text)
            writer.write(entry.value)
        }
        writer.endObject()
        return writer.bytes
    }
}
