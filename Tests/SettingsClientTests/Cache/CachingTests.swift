import Foundation
import Platform
import SettingsAPI
import SettingsModel
import Synchronization
import TestSupport
import Testing

@testable import SettingsClient

/// The cache file, which has the last known state of a suite for a start without a server. `CheckedLine` adds a
/// checksum and the newline character to a JSON object.
@Suite(.ownThread)
struct CachingTests {
    private let suite: SuiteName
    private let directory: TemporaryDirectory
    private let server: InMemoryBackend
    private let files = FaultyFiles()
    private var path: String { directory.path + "/cache/state.json" }

    init() throws {
        suite = try SuiteName("com.example.app")
        directory = try TemporaryDirectory()
        server = InMemoryBackend(suite: suite)
    }

    private func file(server: String = "server") -> CacheFile {
        CacheFile(in: directory.path + "/cache", of: FileOwner(server: server, suite: suite), files: files)
    }

    private func adapter(
        _ backend: any SuiteBackend, _ issues: EventLog = EventLog(), saveInterval: Duration = .zero
    ) -> DefaultsAdapter<ClientKeys> {
        DefaultsAdapter(
            keyStore: ClientKeys(),
            session: SuiteSession(
                // `FlakyBackend` retains the directory, because the session saves the cache file again when the adapter
                // is deallocated.
                FlakyBackend(backend, retaining: directory), cache: file(), options: .init(saveInterval: saveInterval)),
            log: DefaultsLog { _, message, _ in issues.add(message) })
    }

    /// The bytes of the cache file.
    private func bytes() throws -> [UInt8] {
        Array(try Data(contentsOf: URL(filePath: path)))
    }

    /// Waits until the cache file contains exactly these values. Returns false after `Deadline.patience` seconds.
    private func waitUntilCached(_ values: [JSONValue]) -> Bool {
        let deadline = ContinuousClock.now + .seconds(Deadline.patience)
        while file().read()?.suites.first?.values.map(\.value) != values {
            guard ContinuousClock.now < deadline else { return false }
            poll(nil, 0, 1)  // Sleeps for a millisecond.
        }
        return true
    }

    /// Waits until the cache file was saved this many times. A save writes a draft, a file with the suffix `.new`, and
    /// renames the draft. In the log of the files, `rename` is an attempt, and `renamed` its success. Returns false
    /// after `Deadline.patience` seconds.
    private func waitUntilSaved(times: Int) -> Bool {
        files.log.wait(for: "renamed", times: times)
    }

    /// The state of the server when the program starts.
    enum ServerState: CaseIterable, Sendable {
        case unreachable, busy
    }

    @Test(
        "A start while the server is unreachable or busy reads the cached state and reports no issue",
        arguments: ServerState.allCases)
    func start(_ state: ServerState) async throws {
        do {
            let defaults = adapter(server)
            defaults.launchCount = 5
            defaults.username = "me"
            try await defaults.synchronize()
        }
        #expect(waitUntilCached([5, "me"]))
        let link = FlakyBackend(server)
        switch state {
        case .unreachable: link.disconnect()
        // The server asks the client to try again at once.
        case .busy: link.setFate { .unavailable(.zero) }
        }
        let issues = EventLog()
        let defaults = adapter(link, issues)
        #expect(defaults.launchCount == 5 && defaults.username == "me" && defaults.loginTries == 1)
        #expect(try await defaults.value(\.launchCount) == 5)
        #expect(defaults.isSet(\.username) && !defaults.isSet(\.loginTries))
        #expect(issues.all == [])
        let error = await #expect(throws: DefaultsError.self) { try await defaults.synchronize() }
        // The texts are the errors of `FlakyBackend`.
        #expect(error == .unreachable(state == .unreachable ? "nobody is there" : "not now"))
        // When the server is available, the program follows the suite from the cached state.
        let other = DefaultsAdapter(
            keyStore: ClientKeys(), session: SuiteSession(server), log: DefaultsLog { _, _, _ in })
        other.username = "you"
        link.setFate { .answered }
        link.reconnect()
        try await defaults.synchronize()
        #expect(defaults.username == "you" && issues.all == [])
    }

    @Test("A changed state is saved at most once per interval, and when the adapter is released")
    func interval() throws {
        do {
            let defaults = adapter(server, saveInterval: .seconds(1000))
            #expect(defaults.launchCount == 0)
            #expect(waitUntilSaved(times: 1))
            for number in 1...50 { defaults.launchCount = number }
            #expect(files.log.count("renamed") == 1)
        }
        #expect(waitUntilCached([50]))
    }

    @Test("Without a save interval, a changed state is saved at once")
    func atOnce() throws {
        let defaults = adapter(server)
        #expect(defaults.launchCount == 0)
        #expect(waitUntilSaved(times: 1))
        defaults.launchCount = 7
        #expect(waitUntilCached([7]))
    }

    @Test("Only the owner can read the cache file")
    func permissions() throws {
        _ = adapter(server).launchCount
        #expect(waitUntilSaved(times: 1))
        let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
        #expect(mode == 0o600)
    }

    @Test("A cache file that is damaged, truncated, of another server or of another version is ignored")
    func unusable() throws {
        let state = try server.load()
        #expect(try file().save(state))
        let completeFile = try bytes()
        #expect(file().read() == state)
        #expect(file(server: "another").read() == nil)
        for length in 0..<completeFile.count {
            try Data(completeFile[..<length]).write(to: URL(filePath: path))
            #expect(file().read() == nil, "\(length) bytes")
        }
        for offset in completeFile.indices {
            var damaged = completeFile
            damaged[offset] ^= 0x04
            try Data(damaged).write(to: URL(filePath: path))
            #expect(file().read() == nil, "byte \(offset)")
        }
        // The number after `cache` is the version of the format. This version of the client knows only version 1.
        let later = CheckedLine.line(of: Array(#"{"cache":2,"server":"server","suite":"com.example.app"}"#.utf8))
        try Data(later).write(to: URL(filePath: path))
        #expect(file().read() == nil)
        let issues = EventLog()
        let link = FlakyBackend(server)
        link.disconnect()
        // Without a cached state, the client reports that the server is unreachable.
        #expect(adapter(link, issues).launchCount == 0)
        #expect(issues.wait { $0.count == 1 })
    }

    @Test(
        "A failed save keeps the previous cache file",
        arguments: [
            FaultyFiles.Call.makeDirectory, .open, .lock, .write, .rename,
        ])
    func failedSave(_ call: FaultyFiles.Call) throws {
        #expect(try file().save(server.load()))
        let before = try bytes()
        files.fail(call)
        let issues = EventLog()
        do {
            let defaults = adapter(server, issues)
            defaults.launchCount = 5
            #expect(defaults.launchCount == 5)
        }
        // This expectation must come before the repair, because the client may save again after the repair.
        #expect(try bytes() == before)
        files.repair()
        do { _ = adapter(server).launchCount }
        #expect(waitUntilCached([5]))
    }

    @Test("A series of failed saves is reported as one issue")
    func repeatedFailures() throws {
        let issues = EventLog()
        let defaults = adapter(server, issues)
        for outage in 1...2 {
            files.fail(.rename)
            for number in 1...3 {
                let failedSaves = files.log.count("rename")
                defaults.launchCount = 10 * outage + number
                #expect(files.log.wait { $0.count { $0 == "rename" } > failedSaves })
            }
            #expect(issues.wait { $0.count == outage })
            files.repair()
            let saves = files.log.count("renamed")
            defaults.launchCount = 10 * outage
            #expect(waitUntilSaved(times: saves + 1) && waitUntilCached([.integer(Int64(10 * outage))]))
        }
        #expect(issues.all.count == 2)
        #expect(issues.all.allSatisfy { $0.contains(path) }, "\(issues.all)")
    }

    @Test("A save replaces a draft that no program has locked, and keeps the locked draft of another program")
    func drafts() throws {
        #expect(try file().save(server.load()))
        try Data([1, 2, 3]).write(to: URL(filePath: path + ".new"))
        #expect(try file().save(server.load()))
        #expect(!FileManager.default.fileExists(atPath: path + ".new"))
        let other = try OpenFile(path + ".new", .new, in: POSIXFileSystem())
        #expect(try other.lockIfPresent())
        #expect(try !file().save(server.load()))
        #expect(FileManager.default.fileExists(atPath: path + ".new"))
    }

    @Test("A program that ends saves the cache of adapters that are never released")
    func atExit() async throws {
        let path = directory.path + "/cache"
        await #expect(processExitsWith: .success) { [path = path as String] in
            let suite = try SuiteName("com.example.app")
            let file = CacheFile(in: path, of: FileOwner(server: "server", suite: suite))
            let session = SuiteSession(
                InMemoryBackend(suite: suite), cache: file, options: .init(saveInterval: .seconds(1000)))
            let defaults = DefaultsAdapter(keyStore: ClientKeys(), session: session, log: DefaultsLog { _, _, _ in })
            defaults.launchCount = 1
            let deadline = ContinuousClock.now + .seconds(Deadline.patience)
            while file.read() == nil, ContinuousClock.now < deadline { poll(nil, 0, 1) }
            defaults.launchCount = 2
            withExtendedLifetime(defaults) { exit(EXIT_SUCCESS) }
        }
        #expect(file().read()?.suites.first?.values.map(\.value) == [2])
    }
}
