internal import SettingsEngine
package import SettingsModel
internal import Synchronization

/// A set of counters that `/metrics` shows.
package final class ServiceMetrics: Sendable {
    private let answered: Mutex<[Int]> = Mutex([0, 0, 0, 0, 0])
    private let started: Timestamp

    package init(started: Timestamp) {
        self.started = started
    }

    /// Adds answers by the class of their status. Each loop counts its own and adds them once in a batch of events.
    func add(_ counts: [Int]) {
        answered.withLock { answered in
            for index in answered.indices { answered[index] += counts[index] }
        }
    }

    /// Writes all metrics in the text form of Prometheus.
    func text(_ state: State, watchers: Int, isReady: Bool) -> String {
        var settings = 0
        state.suites.forEach { suite in
            settings += suite.keyCount
            return true
        }
        var text = ""
        func metric(_ name: String, _ kind: String, _ help: String, _ samples: [(labels: String, value: String)]) {
            text += "# HELP settingsd_\(name) \(help)\n# TYPE settingsd_\(name) \(kind)\n"
            for sample in samples { text += "settingsd_\(name)\(sample.labels) \(sample.value)\n" }
        }
        let classes = answered.withLock { $0 }.enumerated().map { index, count in
            (labels: "{status=\"\(index + 1)xx\"}", value: String(count))
        }
        metric("info", "gauge", "The version that runs.", [("{version=\"\(Service.version)\"}", "1")])
        metric("requests_total", "counter", "Requests answered, by the class of their status.", classes)
        metric("revision", "counter", "The revision of the last commit.", [("", "\(state.revision)")])
        metric("suites", "gauge", "Suites.", [("", "\(state.suites.count)")])
        metric("keys", "gauge", "Keys with a value or listed by a schema, in all suites.", [("", "\(settings)")])
        metric("history_commits", "gauge", "Recent commits that are kept.", [("", "\(state.history.count)")])
        metric(
            "history_bytes", "gauge", "Bytes of memory that the commits that are kept take, about.",
            [("", "\(state.history.size)")])
        metric("watchers", "gauge", "Requests that wait for something to happen.", [("", "\(watchers)")])
        metric("ready", "gauge", "1 while writes are taken.", [("", isReady ? "1" : "0")])
        metric(
            "start_time_seconds", "gauge", "When the daemon started, in seconds since 1970.",
            [("", "\(started.milliseconds / 1000)")])
        return text
    }
}
