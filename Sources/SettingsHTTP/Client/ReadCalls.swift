package import SettingsAPI
package import SettingsModel

extension RequestTarget {
    static func suite(_ suite: SuiteName) -> RequestTarget {
        RequestTarget("v1", "suites", suite.text)
    }

    static func keys(_ suite: SuiteName) -> RequestTarget {
        RequestTarget("v1", "suites", suite.text, "keys")
    }

    static func key(_ key: KeyName, _ suite: SuiteName) -> RequestTarget {
        RequestTarget("v1", "suites", suite.text, "keys", key.text)
    }

    static func schema(_ suite: SuiteName) -> RequestTarget {
        RequestTarget("v1", "suites", suite.text, "schema")
    }

    /// The same with a time to wait, in whole seconds: rounded up, so that a short wait is none of zero.
    func waiting(_ wait: Duration?) -> RequestTarget {
        with("wait", wait.map { String($0.wholeSeconds) })
    }
}

extension Duration {
    /// As a daemon is asked to wait.
    var wholeSeconds: Int64 { components.seconds + (components.attoseconds > 0 ? 1 : 0) }
}

extension APICall where Output == ServiceDescription {
    package static var service: APICall { APICall(WireRequest(.get, RequestTarget("v1"))) }
}

extension APICall where Output == Void {
    package static var health: APICall { APICall(WireRequest(.get, RequestTarget("healthz"))) { _ in } }
    package static var readiness: APICall { APICall(WireRequest(.get, RequestTarget("readyz"))) { _ in } }
}

extension APICall where Output == String {
    package static var metrics: APICall { APICall(WireRequest(.get, RequestTarget("metrics"))) { $0.text() } }
}

extension APICall where Output == JSONValue {
    package static var interface: APICall {
        APICall(WireRequest(.get, RequestTarget("openapi.json"))) { reply throws(SettingsError) in try reply.json() }
    }
}

extension APICall {
    package static func suites(prefix: String?, after: SuiteName?, limit: Int?) -> APICall
    where Output == Answer<SuiteListing> {
        let target = RequestTarget("v1", "suites").with("prefix", prefix).with("after", after?.text)
            .with("limit", limit.map(String.init))
        return APICall(WireRequest(.get, target)) { reply throws(SettingsError) in try reply.answer() }
    }

    package static func suite(_ suite: SuiteName, view: ValueView, prefix: String?, at moment: Revision?) -> APICall
    where Output == SuiteState {
        let target = RequestTarget.suite(suite).with("view", view == .effective ? nil : view.rawValue)
            .with("prefix", prefix).with("at", moment?.description)
        return APICall(WireRequest(.get, target))
    }

    package static func suite(_ suite: SuiteName, changedFrom revision: Revision, wait: Duration?) -> APICall
    where Output == SuiteState? {
        let request = WireRequest(.get, .suite(suite).waiting(wait)).unless(revision)
        return APICall(request, wait: wait ?? .zero, isConditional: true) { reply throws(SettingsError) in
            reply.reply.status == 304 ? nil : try reply.body()
        }
    }

    package static func keys(
        of suite: SuiteName, prefix: String?, after: KeyName?, limit: Int?, at moment: Revision?
    ) -> APICall where Output == Answer<KeyListing> {
        let target = RequestTarget.keys(suite).with("prefix", prefix).with("after", after?.text)
            .with("limit", limit.map(String.init)).with("at", moment?.description)
        return APICall(WireRequest(.get, target)) { reply throws(SettingsError) in try reply.answer() }
    }

    package static func setting(_ key: KeyName, in suite: SuiteName) -> APICall
    where Output == Answer<SettingState> {
        APICall(WireRequest(.get, .key(key, suite))) { reply throws(SettingsError) in try reply.answer() }
    }

    package static func setting(_ key: KeyName, in suite: SuiteName, changedFrom revision: Revision, wait: Duration?)
        -> APICall
    where Output == Answer<SettingState>? {
        let request = WireRequest(.get, .key(key, suite).waiting(wait)).unless(revision)
        return APICall(request, wait: wait ?? .zero, isConditional: true) { reply throws(SettingsError) in
            try reply.answerUnlessNotModified()
        }
    }

    package static func schema(of suite: SuiteName) -> APICall where Output == SchemaDocument {
        APICall(WireRequest(.get, .schema(suite))) { reply throws(SettingsError) in
            guard let revision = reply.tag else { throw reply.malformed("the schema has no ETag") }
            return SchemaDocument(document: try reply.json(), revision: revision)
        }
    }
}

extension WireRequest {
    /// The same for somebody who knows this revision.
    func unless(_ revision: Revision) -> WireRequest {
        var request = self
        request.fields.append(Field(name: "If-None-Match", value: EntityTag(revision).description))
        return request
    }
}
