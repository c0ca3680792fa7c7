internal import SettingsModel

/// What is watched: one suite or several, or some keys of them.
struct Watched: Hashable, Sendable {
    var suites: [SuiteName]
    /// Whether it is asked as for several, whose answers have another form.
    var isSeveral: Bool
    var keys: [KeyName]
    var prefixes: [String]

    var target: RequestTarget {
        var target =
            isSeveral ? RequestTarget("v1", "observe") : RequestTarget("v1", "suites", suites[0].text, "observe")
        if isSeveral { for suite in suites { target = target.with("suite", suite.text) } }
        for key in keys { target = target.with("key", key.text) }
        for prefix in prefixes { target = target.with("prefix", prefix) }
        return target
    }
}

extension APICall where Output == Observation {
    /// How long the daemon waits if nothing is said of it.
    private static var usualWait: Duration { .seconds(30) }

    static func observe(
        _ watched: Watched, since place: ResumePoint?, wait: Duration?, limit: Int?, latest: Bool
    ) -> APICall {
        let target = watched.target.with("since", place?.description).waiting(wait)
            .with("limit", limit.map(String.init)).with(flag: "latest", latest)
        return APICall(WireRequest(.get, target), wait: wait ?? usualWait)
    }
}
