import SettingsClient
import Synchronization

/// The phase of a test. The test stores the phase, and the workers observe it, so that they start at the same moment.
enum Phase: String, CaseIterable, DefaultsSerializable {
    case waiting, working, done
}

struct WorkerKeys: DefaultsKeyStore {
    var phase: DefaultsKey<Phase> { .init("phase", defaultValue: .waiting) }
    var sum: DefaultsKey<Int> { .init("sum", defaultValue: 0, merge: .sum) }
    var count: DefaultsKey<Int> { .init("count", defaultValue: 0) }
    var text: DefaultsKey<String?> { .init("text") }
}

/// The issues that the adapter has reported.
let reportedIssues = Mutex<[DefaultsIssue]>([])

// The mode `confirmed` makes each setter wait for the answer of the daemon.
// swift-format-ignore: AlwaysUseLowerCamelCase
let Defaults = DefaultsAdapter(
    suite: "worker", keyStore: WorkerKeys(), timeout: .seconds(60), writes: .confirmed,
    log: DefaultsLog(issues: { issue in reportedIssues.withLock { $0.append(issue) } }))
