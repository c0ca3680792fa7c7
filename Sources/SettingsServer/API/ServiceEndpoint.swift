internal import HTTPWire
internal import SettingsModel

/// What the daemon tells of itself.
struct ServiceEndpoint {
    let service: Service

    /// Name, version, place in history and where to go on.
    func get() -> Response {
        let cursor = service.store.state.cursor
        let description = ServiceDescription(
            name: Service.name, version: Service.version, cursor: cursor,
            links: [
                ServiceDescription.Link(name: "suites", target: Resource.suites.rawValue),
                ServiceDescription.Link(name: "suite", target: Resource.suite.rawValue),
                ServiceDescription.Link(name: "keys", target: Resource.keys.rawValue),
                ServiceDescription.Link(name: "setting", target: Resource.setting.rawValue),
                ServiceDescription.Link(name: "schema", target: Resource.schema.rawValue),
                ServiceDescription.Link(name: "observe", target: Resource.observation.rawValue),
                ServiceDescription.Link(
                    name: "observeSeveral", target: "\(Resource.observationOfSeveral.rawValue)?suite={suite}"),
                ServiceDescription.Link(name: "transaction", target: Resource.transaction.rawValue),
                ServiceDescription.Link(name: "description", target: Resource.description.rawValue),
                ServiceDescription.Link(name: "health", target: Resource.health.rawValue),
                ServiceDescription.Link(name: "ready", target: Resource.ready.rawValue),
                ServiceDescription.Link(name: "metrics", target: Resource.metrics.rawValue),
            ])
        return Response(json: description.jsonBytes(), cursor: cursor)
    }

    /// That the process works.
    func health() -> Response {
        status("ok")
    }

    /// Whether writes would be taken, else why not.
    func ready() -> Response {
        guard let obstacle = service.obstacle() else { return status("ready") }
        return Response(obstacle, cursor: service.store.state.cursor)
    }

    /// What is counted, in the text form of Prometheus.
    func metrics() -> Response {
        let state = service.store.state
        let text = service.metrics.text(
            state, watchers: service.watchers.total, isReady: service.obstacle() == nil)
        return Response(
            status: 200, contentType: .prometheus, fields: FieldBlock(cursor: state.cursor, tag: nil),
            body: Array(text.utf8))
    }

    /// The description of the interface.
    func description() -> Response {
        Response(json: APIDescription.bytes, cursor: service.store.state.cursor)
    }

    private func status(_ word: String) -> Response {
        let body: JSONValue = ["status": .string(word)]
        return Response(json: body.bytes(), cursor: service.store.state.cursor)
    }
}
