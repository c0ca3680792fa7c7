package import SettingsAPI
package import SettingsModel

/// What is watched: one suite or several, or some keys of them.
package struct Watched: Hashable, Sendable {
    package enum Scope: Hashable, Sendable {
        case one(SuiteName)
        /// Asked for as several, even if it is one: the answers have another form.
        case several([SuiteName], prefixes: [String] = [])
    }

    var scope: Scope
    var keys: [KeyName]
    var prefixes: [String]

    package init(scope: Scope, keys: [KeyName] = [], prefixes: [String] = []) {
        (self.scope, self.keys, self.prefixes) = (scope, keys, prefixes)
    }

    var target: RequestTarget {
        var target: RequestTarget
        switch scope {
        case .one(let suite): target = RequestTarget("v1", "suites", suite.text, "observe")
        case .several(let suites, let prefixes):
            target = RequestTarget("v1", "observe")
            for suite in suites { target = target.with("suite", suite.text) }
            for prefix in prefixes { target = target.with("suitePrefix", prefix) }
        }
        for key in keys { target = target.with("key", key.text) }
        for prefix in prefixes { target = target.with("prefix", prefix) }
        return target
    }
}

extension APICall where Output == SettingsObservation {
    /// How long the daemon waits if nothing is said of it.
    private static var usualWait: Duration { .seconds(30) }

    package static func observe(
        _ watched: Watched, since place: ResumePoint?, wait: Duration?, limit: Int?, latest: Bool
    ) -> APICall {
        let target = watched.target.with("since", place?.description).waiting(wait)
            .with("limit", limit.map(String.init)).with(flag: "latest", latest)
        return APICall(WireRequest(.get, target), wait: wait ?? usualWait)
    }
}
