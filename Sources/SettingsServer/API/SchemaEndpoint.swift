internal import HTTPWire
internal import SettingsModel

/// Reading the schema of a suite.
struct SchemaEndpoint {
    let state: State

    /// The document as it was sent.
    func get(_ incoming: Incoming, _ bytes: Span<UInt8>) throws(Problem) -> Rendering {
        let name = try incoming.suite(in: bytes)
        guard let suite = state.suite(name) else { throw state.unknownSuite(name) }
        guard let schema = suite.schema else {
            let problem = Problem(.noSchema, "suite \(name) has no schema: it holds any key with any value")
            return Rendering(Response(problem, cursor: state.cursor, tag: suite.schemaRevision))
        }
        try incoming.ifMatch(in: bytes)?.check(
            "the schema of suite \(name)", at: schema.revision,
            current: .suite(SuiteRevision(suite: name, revision: schema.revision)))
        if try incoming.isNotModified(schema.revision, in: bytes) {
            return Rendering(Response(notModified: schema.revision, cursor: state.cursor))
        }
        return Rendering(weight: schema.schema.keys.count) {
            let body = schema.schema.text.map { Array($0.utf8) } ?? schema.schema.document.bytes()
            return Response(json: body, cursor: state.cursor, tag: schema.revision)
        }
    }
}
