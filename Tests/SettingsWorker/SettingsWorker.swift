import Glibc
import SettingsClient
import Synchronization

/// A program for tests in which several real ones use a suite:
///
///     settings-worker sum TIMES        adds one, so many times, to a key that is merged as a sum
///     settings-worker count            adds one to a key without a rule, until the phase is over; says "met" when that was
///                                      at least 300 times and not without a conflict
///     settings-worker text VALUE       stores a value and is gone
///     settings-worker complain         does something that the log of every adapter tells, and says "going on"
///
/// The first two say "ready" and wait for the phase to begin. At the end they print how often they added and how many of
/// these were conflicts, and say what else went wrong.
@main
enum SettingsWorker {
    static func main() async {
        let arguments = Array(CommandLine.arguments.dropFirst())
        switch (arguments.first, arguments.last.flatMap { Int($0) }) {
        case ("sum", let times?):
            await begin()
            for _ in 0..<times { Defaults.sum += 1 }
            report(times)
        case ("count", _):
            await begin()
            var (times, hasSaid) = (0, false)
            while Defaults.phase == .working {
                Defaults.count += 1
                times += 1
                if !hasSaid, times >= 300, !complaints.withLock({ $0.isEmpty }) {
                    say("met")
                    hasSaid = true
                }
            }
            report(times)
        case ("text", _):
            Defaults.text = arguments.last
            // Without a single step more, not even those that `exit` takes.
            _exit(0)
        case ("complain", _):
            // An adapter with the default log. The name of the key is not allowed.
            DefaultsAdapter(suite: "complaints", keyStore: WorkerKeys(), outbox: .none)[
                key: DefaultsKey<Int?>("")] = 1
            print("going on")
        default:
            exit(64)
        }
    }

    private static func begin() async {
        let phases = Defaults.updates(of: \.phase, options: .initial)
        say("ready")
        for await phase in phases where phase.newValue == .working { return }
    }

    private static func report(_ times: Int) {
        // The log has all issues after this call.
        try? Defaults.synchronize()
        let issues = complaints.withLock { $0 }
        let conflicts = issues.count { $0.error.isConflict }
        print(times, conflicts)
        for issue in issues where !issue.error.isConflict { say("\(issue)") }
    }

    private static func say(_ text: String) {
        var line = text + "\n"
        _ = line.withUTF8 { write(STDERR_FILENO, $0.baseAddress, $0.count) }
    }
}
