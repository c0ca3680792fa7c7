import Dispatch
import Glibc
import SettingsModel
import TestSupport
import Testing

@testable import SettingsClient
@testable import SettingsHTTP

/// What adapters leave behind in a process: nothing. Each test counts in a process of its own, where nobody else opens
/// and closes.
@Suite(.ownThread)
struct LeftBehindTests {
    /// Threads and descriptors of this process.
    struct Count: Equatable, CustomStringConvertible {
        let threads: Int
        let descriptors: Int

        static var now: Count {
            Count(threads: entries("/proc/self/task"), descriptors: entries("/proc/self/fd"))
        }

        private static func entries(_ path: String) -> Int {
            guard let directory = opendir(path) else { return -1 }
            defer { closedir(directory) }
            var count = 0
            while readdir(directory) != nil { count += 1 }
            return count
        }

        var description: String { "\(threads) threads, \(descriptors) descriptors" }

        /// Waits until there is no more than this, for half a minute.
        var isReachedAgain: Bool {
            let limit = ContinuousClock.now + .seconds(30)
            while ContinuousClock.now < limit {
                let now = Count.now
                if now.threads <= threads, now.descriptors <= descriptors { return true }
                poll(nil, 0, 20)
            }
            print("left behind: \(Count.now), before \(self)")
            return false
        }
    }

    /// What is there once nobody waits for an answer; nil if that does not come about. What Dispatch keeps for its timers
    /// once there was one is there too.
    private static var countAtRest: Count? {
        let timer = DispatchSemaphore(value: 0)
        DispatchQueue.global().asyncAfter(deadline: .now() + .milliseconds(1)) { timer.signal() }
        timer.wait()
        let limit = ContinuousClock.now + .seconds(30)
        while AnswerReader.shared.isRunning {
            guard ContinuousClock.now < limit else { return nil }
            poll(nil, 0, 20)
        }
        return .now
    }

    /// Uses an adapter of a server, and lets go of it.
    private static func use(_ address: ServerAddress, _ suite: SuiteName, round: Int) -> Bool {
        let defaults = DefaultsAdapter(
            suite: suite, keyStore: ClientKeys(), server: address, outbox: .none, writes: .confirmed, arguments: [])
        defaults.launchCount = round
        return defaults.launchCount == round && !defaults.isSet(\.theme)
    }

    // The bodies are functions, so that the daemon is gone when the process ends: it would hold on to what a process that
    // waits for its child waits for.

    @Test
    func `Released adapters leave no thread and no descriptor`()
        async
    {
        await #expect(processExitsWith: .success) {
            exit(try LeftBehindTests.leaveNothingWhenUsed() ? EXIT_SUCCESS : EXIT_FAILURE)
        }
    }

    private static func leaveNothingWhenUsed() throws -> Bool {
        let directory = try TemporaryDirectory()
        let daemon = try DaemonProcess(data: directory.path + "/data", options: ["--durability", "snapshot"])
        let address = try ServerAddress("http://127.0.0.1:\(daemon.port)")
        let suite = try SuiteName("com.example.app")
        guard use(address, suite, round: 0), let before = countAtRest else { return false }
        for round in 1...200 {
            guard use(address, suite, round: round) else { return false }
        }
        guard before.isReachedAgain else { return false }
        // Many at the same time share the thread and the connection for writes.
        do {
            let many = (0..<100).map { number in
                DefaultsAdapter(
                    suite: suite, keyStore: ClientKeys(), server: address, outbox: .none,
                    writes: .confirmed, arguments: ["-loginTries", "\(number)"])
            }
            for (number, defaults) in many.enumerated() {
                defaults.launchCount += 1
                guard defaults.loginTries == number else { return false }
            }
            let used = Count.now
            guard used.threads <= before.threads + 2, used.descriptors <= before.descriptors + 103 else { return false }
        }
        return before.isReachedAgain
    }

    @Test
    func `Released adapters of a missing daemon leave no thread and no descriptor`() async {
        await #expect(processExitsWith: .success) {
            exit(try LeftBehindTests.leaveNothingWithoutDaemon() ? EXIT_SUCCESS : EXIT_FAILURE)
        }
    }

    private static func leaveNothingWithoutDaemon() throws -> Bool {
        let address = try ServerAddress("unix:/nobody/listens/here")
        let suite = try SuiteName("com.example.app")
        func use() {
            let defaults = DefaultsAdapter(
                suite: suite, keyStore: ClientKeys(), server: address, timeout: .milliseconds(1), outbox: .none,
                writes: .confirmed, arguments: [],
                log: DefaultsLog { _, _, _ in })
            defaults.launchCount += 1
        }
        use()
        guard let before = countAtRest else { return false }
        for _ in 0..<200 { use() }
        return before.isReachedAgain
    }

    @Test
    func `Adapters that are released during an outage leave no thread and no descriptor`() async {
        await #expect(processExitsWith: .success) {
            exit(try LeftBehindTests.leaveNothingWhileAway() ? EXIT_SUCCESS : EXIT_FAILURE)
        }
    }

    private static func leaveNothingWhileAway() throws -> Bool {
        let directory = try TemporaryDirectory()
        let socket = directory.path + "/socket"
        let daemon = try DaemonProcess(data: directory.path + "/data", options: ["--listen", "unix:\(socket)"])
        let (address, suite) = (try ServerAddress("unix:\(socket)"), try SuiteName("com.example.app"))
        guard use(address, suite, round: 1), let before = countAtRest else { return false }
        do {
            let many = (0..<100).map { _ in
                DefaultsAdapter(
                    suite: suite, keyStore: ClientKeys(), server: address, outbox: .none, writes: .confirmed,
                    arguments: [])
            }
            for defaults in many { defaults.launchCount += 1 }
            try daemon.killAtOnce()
        }
        return before.isReachedAgain
    }
}
