import Glibc
import SettingsClient
import Synchronization

/// A program for tests in which several processes use the same suite:
///
///     settings-worker sum TIMES        increments a key with the merge rule `sum` TIMES times
///     settings-worker count            increments a key without a merge rule while the key `phase` is `working`;
///                                      prints "met" after at least 300 increments and one issue, such as a conflict
///     settings-worker text VALUE       stores a value and exits at once
///     settings-worker complain         writes to a key with an invalid name, which the default log reports on standard
///                                      error, and prints "going on"
///
/// `sum` and `count` print "ready", and wait until the test stores `working` in `phase`. At the end, they print the
/// number of increments and the number of conflicts on standard output. All other lines ("ready", "met", and the issues
/// that are not conflicts) go to standard error.
@main
enum SettingsWorker {
    static func main() async {
        let arguments = Array(CommandLine.arguments.dropFirst())
        switch (arguments.first, arguments.last.flatMap { Int($0) }) {
        case ("sum", let times?):
            await waitForPhaseWorking()
            for _ in 0..<times { Defaults.sum += 1 }
            report(times)
        case ("count", _):
            await waitForPhaseWorking()
            var (times, hasPrintedMet) = (0, false)
            while Defaults.phase == .working {
                Defaults.count += 1
                times += 1
                if !hasPrintedMet, times >= 300, !reportedIssues.withLock({ $0.isEmpty }) {
                    say("met")
                    hasPrintedMet = true
                }
            }
            report(times)
        case ("text", _):
            Defaults.text = arguments.last
            // The value must be stored even if the process exits without its exit handlers.
            _exit(0)
        case ("complain", _):
            // This adapter has the default log. An empty text is not a valid name of a key.
            DefaultsAdapter(suite: "complaints", keyStore: WorkerKeys(), outbox: .none)[
                key: DefaultsKey<Int?>("")] = 1
            print("going on")
        default:
            exit(EX_USAGE)
        }
    }

    private static func waitForPhaseWorking() async {
        let phases = Defaults.updates(of: \.phase, options: .initial)
        say("ready")
        for await phase in phases where phase.newValue == .working { return }
    }

    private static func report(_ times: Int) {
        // After this call, `reportedIssues` contains the issues of all writes.
        try? Defaults.synchronize()
        let issues = reportedIssues.withLock { $0 }
        let conflicts = issues.count { $0.error.isConflict }
        print(times, conflicts)
        for issue in issues where !issue.error.isConflict { say("\(issue)") }
    }

    private static func say(_ text: String) {
        var line = text + "\n"
        _ = line.withUTF8 { write(STDERR_FILENO, $0.baseAddress, $0.count) }
    }
}
