import Dispatch
import Glibc
import SettingsModel
import TestSupport
import Testing

@testable import SettingsClient
@testable import SettingsHTTP

/// Released adapters close their descriptors and end their threads. Each test runs in a child process, where no other
/// test opens descriptors or starts threads.
@Suite(.ownThread)
struct ResourceLeakTests {
    /// The numbers of threads and descriptors of this process.
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

        /// Waits until the process has at most this number of threads and of descriptors. Returns false after 30
        /// seconds.
        func waitUntilReached() -> Bool {
            let deadline = ContinuousClock.now + .seconds(30)
            while ContinuousClock.now < deadline {
                let now = Count.now
                if now.threads <= threads, now.descriptors <= descriptors { return true }
                poll(nil, 0, 20)  // Sleeps for 20 ms.
            }
            print("leak: now \(Count.now), before \(self)")
            return false
        }
    }

    /// Waits until no request is running, and returns the count. Returns nil after 30 seconds. Uses a timer of Dispatch
    /// first, so that the count includes the descriptors that Dispatch opens for its first timer.
    private static func countAfterLastRequest() -> Count? {
        let timer = DispatchSemaphore(value: 0)
        DispatchQueue.global().asyncAfter(deadline: .now() + .milliseconds(1)) { timer.signal() }
        timer.wait()
        let deadline = ContinuousClock.now + .seconds(30)
        // The thread of the `AnswerReader` waits for the answers to requests.
        while AnswerReader.shared.isRunning {
            guard ContinuousClock.now < deadline else { return nil }
            poll(nil, 0, 20)  // Sleeps for 20 ms.
        }
        return .now
    }

    /// Creates an adapter, writes and reads a setting, and releases the adapter. Returns true if the value is read
    /// back.
    private static func use(_ address: ServerAddress, _ suite: SuiteName, round: Int) -> Bool {
        let defaults = DefaultsAdapter(
            suite: suite, keyStore: ClientKeys(), server: address, outbox: .none, writes: .confirmed, arguments: [])
        defaults.launchCount = round
        return defaults.launchCount == round && !defaults.isSet(\.theme)
    }

    // The bodies of the child processes are functions, so that the daemon is stopped before `exit`. A running daemon
    // would keep the inherited pipes open, and the parent process reads the pipes until they are closed.

    @Test
    func `Released adapters leave no thread and no descriptor`() async {
        await #expect(processExitsWith: .success) {
            exit(try ResourceLeakTests.hasNoLeakAfterUse() ? EXIT_SUCCESS : EXIT_FAILURE)
        }
    }

    private static func hasNoLeakAfterUse() throws -> Bool {
        let directory = try TemporaryDirectory()
        let daemon = try DaemonProcess(data: directory.path + "/data", options: ["--durability", "snapshot"])
        let address = try ServerAddress("http://127.0.0.1:\(daemon.port)")
        let suite = try SuiteName("com.example.app")
        guard use(address, suite, round: 0), let before = countAfterLastRequest() else { return false }
        for round in 1...200 {
            guard use(address, suite, round: round) else { return false }
        }
        guard before.waitUntilReached() else { return false }
        // 100 adapters at the same time share the client thread and the connection for writes. The launch argument
        // `-loginTries` gives each adapter its own value of this key.
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
            // The three threads are the client thread, the answer reader, and a thread of Dispatch that announces
            // changes and reports states. The limit of descriptors allows one for each adapter and three more.
            guard used.threads <= before.threads + 3, used.descriptors <= before.descriptors + 103 else { return false }
        }
        return before.waitUntilReached()
    }

    @Test
    func `Released adapters of a missing daemon leave no thread and no descriptor`() async {
        await #expect(processExitsWith: .success) {
            exit(try ResourceLeakTests.hasNoLeakWithoutDaemon() ? EXIT_SUCCESS : EXIT_FAILURE)
        }
    }

    private static func hasNoLeakWithoutDaemon() throws -> Bool {
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
        guard let before = countAfterLastRequest() else { return false }
        for _ in 0..<200 { use() }
        return before.waitUntilReached()
    }

    @Test
    func `Adapters that are released during an outage leave no thread and no descriptor`() async {
        await #expect(processExitsWith: .success) {
            exit(try ResourceLeakTests.hasNoLeakAfterOutage() ? EXIT_SUCCESS : EXIT_FAILURE)
        }
    }

    private static func hasNoLeakAfterOutage() throws -> Bool {
        let directory = try TemporaryDirectory()
        let socket = directory.path + "/socket"
        let daemon = try DaemonProcess(data: directory.path + "/data", options: ["--listen", "unix:\(socket)"])
        let (address, suite) = (try ServerAddress("unix:\(socket)"), try SuiteName("com.example.app"))
        guard use(address, suite, round: 1), let before = countAfterLastRequest() else { return false }
        do {
            let many = (0..<100).map { _ in
                DefaultsAdapter(
                    suite: suite, keyStore: ClientKeys(), server: address, outbox: .none, writes: .confirmed,
                    arguments: [])
            }
            for defaults in many { defaults.launchCount += 1 }
            try daemon.killAtOnce()
        }
        return before.waitUntilReached()
    }
}
