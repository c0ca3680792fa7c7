import SettingsClient
import Synchronization

/// When workers work: all of them from the same moment on.
enum Phase: String, CaseIterable, DefaultsSerializable {
    case waiting, working, done
}

struct WorkerKeys: DefaultsKeyStore {
    var phase: DefaultsKey<Phase> { .init("phase", defaultValue: .waiting) }
    var sum: DefaultsKey<Int> { .init("sum", defaultValue: 0, merge: .sum) }
    var count: DefaultsKey<Int> { .init("count", defaultValue: 0) }
    var text: DefaultsKey<String?> { .init("text") }
}

/// What was complained of.
let complaints = Mutex<[DefaultsIssue]>([])

// swift-format-ignore: AlwaysUseLowerCamelCase
let Defaults = DefaultsAdapter(
    suite: "worker", keyStore: WorkerKeys(), timeout: .seconds(60), writes: .confirmed,
    log: DefaultsLog(issues: { issue in complaints.withLock { $0.append(issue) } }))
