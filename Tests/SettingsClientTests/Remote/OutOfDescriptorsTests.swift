import Dispatch
import Glibc
import SettingsModel
import TestSupport
import Testing

@testable import SettingsClient
@testable import SettingsHTTP

/// A program that has no free descriptor when it begins to follow a suite.
@Suite(.ownThread)
struct OutOfDescriptorsTests {
    @Test
    func `Following begins when descriptors are available again`() async {
        await #expect(processExitsWith: .success) {
            exit(try OutOfDescriptorsTests.followsLater() ? EXIT_SUCCESS : EXIT_FAILURE)
        }
    }

    private static func followsLater() throws -> Bool {
        let directory = try TemporaryDirectory()
        let daemon = try DaemonProcess(data: directory.path + "/data")
        let address = try ServerAddress("http://127.0.0.1:\(daemon.port)")
        let (suite, key) = (try SuiteName("app"), try KeyName("launchCount"))
        let other = DaemonClient(address).blocking
        try other.send(.set(key, to: 1, in: suite))
        // Makes Dispatch open its descriptors for timers before all descriptors are in use.
        let timer = DispatchSemaphore(value: 0)
        DispatchQueue.global().asyncAfter(deadline: .now() + .milliseconds(1)) { timer.signal() }
        timer.wait()

        let taken = openAllDescriptors()
        let defaults = DefaultsAdapter(
            suite: suite, keyStore: ClientKeys(), server: address, outbox: .none, writes: .confirmed, arguments: [])
        // Without descriptors, the getter returns the default, and the thread for long polls (`AnswerReader`) does not
        // start.
        guard defaults.launchCount == 0, !AnswerReader.shared.isRunning else { return false }
        for descriptor in taken { close(descriptor) }
        try other.send(.set(key, to: 2, in: suite))
        let deadline = ContinuousClock.now + .seconds(30)
        while defaults.launchCount != 2 {
            guard ContinuousClock.now < deadline else { return false }
            poll(nil, 0, 20)  // Sleeps for 20 ms.
        }
        return AnswerReader.shared.isRunning
    }

    /// Opens files until the process has no free descriptor. Returns the descriptors of the files.
    private static func openAllDescriptors() -> [Int32] {
        var limit = rlimit()
        let files = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        getrlimit(files, &limit)
        limit.rlim_cur = min(limit.rlim_cur, 256)
        setrlimit(files, &limit)
        var taken: [Int32] = []
        while true {
            let descriptor = open("/dev/null", O_RDONLY)
            guard descriptor >= 0 else { break }
            taken.append(descriptor)
        }
        return taken
    }
}
