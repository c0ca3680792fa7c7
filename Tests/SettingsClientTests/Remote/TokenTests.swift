import ClientTestSupport
import Glibc
import SettingsModel
import TestSupport
import Testing

@testable import SettingsClient
@testable import SettingsHTTP

/// Adapters of a daemon with access control.
@Suite(.ownThread, .timeLimit(.minutes(10)))
struct TokenTests {
    private let names: SampleNames
    private let directory: TemporaryDirectory
    private let daemon: ServedDaemon
    private let tokens: [String]

    init() throws {
        names = try SampleNames()
        directory = try TemporaryDirectory()
        (daemon, tokens) = try ServedDaemon.withTokens(["one", "two"], in: directory)
    }

    private func adapter(
        _ token: DefaultsToken?, writes: WriteMode = .background
    ) throws -> DefaultsAdapter<ClientKeys> {
        DefaultsAdapter(
            suite: names.app, keyStore: ClientKeys(), server: try daemon.address(), token: token,
            timeout: .seconds(Deadline.patience), outbox: .none, writes: writes, arguments: [],
            log: DefaultsLog { _, _, _ in })
    }

    /// Returns the name of the caller that has stored the current value of a key.
    private func writer(of key: KeyName) throws -> String? {
        let client = DaemonClient(try daemon.address(), token: AccessToken(tokens[0]))
        return try client.blocking.send(.setting(key, in: names.app)).by
    }

    @Test("Adapters with different tokens read, write and follow one suite, each with its own token")
    func severalTokens() async throws {
        let path = try directory.file("token", tokens[1] + "\n")
        let (one, two) = (try adapter(.value(tokens[0])), try adapter(.file(path)))
        try await one.set(\.launchCount, 1)
        #expect(try writer(of: names.launchCount) == "token:one")
        let updates = one.updates(of: \.launchCount, options: .initial)
        try await two.update(\.launchCount) { $0 += 1 }
        for await update in updates where update.newValue == 2 { break }
        #expect(try writer(of: names.launchCount) == "token:two")
        try await one.update(\.launchCount) { $0 += 1 }
        #expect(try writer(of: names.launchCount) == "token:one")
        let withUnknownToken = try adapter(.value("wrong"))
        let error = await #expect(throws: DefaultsError.self) { try await withUnknownToken.ready() }
        #expect(error?.code == .unauthorized)
        let withoutToken = try adapter(nil)
        await #expect(throws: DefaultsError.self) { try await withoutToken.ready() }
    }

    @Test("With a missing token file, reads and writes report the path, and the write is sent when the file exists")
    func missingFile() async throws {
        let path = directory.path + "/late"
        let defaults = try adapter(.file(path))
        let reason = "cannot read the token file \(path): No such file or directory"
        var issues = defaults.issues.makeAsyncIterator()
        #expect(defaults.launchCount == 0)
        let read = await issues.next()
        #expect(read?.attempt == .read && read?.error == .unusableToken(reason))
        await #expect(throws: DefaultsError.unusableToken(reason)) { try await defaults.ready() }
        defaults.launchCount = 7
        #expect(defaults.launchCount == 7)
        let write = await issues.next()
        #expect(write?.attempt == .write && write?.error == .kept("a write waits: \(reason)"))
        await #expect(throws: DefaultsError.kept(reason)) { try await defaults.set(\.launchCount, 8) }
        _ = try directory.file("late", tokens[1])
        try await defaults.flush()
        #expect(try writer(of: names.launchCount) == "token:two")
        #expect(defaults.launchCount == 8)
    }

    @Test("A confirmed setter with an unusable token does not wait for the whole timeout")
    func confirmedSetter() throws {
        // A token cannot contain a space.
        let defaults = try adapter(.value("two words"), writes: .confirmed)
        let start = ContinuousClock.now
        defaults.launchCount = 1
        #expect(ContinuousClock.now - start < .seconds(Deadline.patience / 2))
    }

    @Test("The Defaults of SettingsClient report a missing token file with the path and the name of the variable")
    func environment() async {
        await #expect(processExitsWith: .success) {
            setenv("SETTINGS_URL", "unix:/nobody/listens/here", 1)
            setenv("SETTINGS_TOKEN_FILE", "/missing/token", 1)
            var issues = Defaults.issues.makeAsyncIterator()
            _ = Defaults.launchCount
            let expected = "cannot read the token file /missing/token (SETTINGS_TOKEN_FILE): No such file or directory"
            exit(await issues.next()?.error == .unusableToken(expected) ? EXIT_SUCCESS : EXIT_FAILURE)
        }
    }

    @Test("Adapters share the connections to a server only if they have the same token")
    func sharedServers() throws {
        let address = try daemon.address()
        let tokens: [DefaultsToken?] = [nil, .value("a"), .value("b"), .file("a"), .file("b")]
        let servers = tokens.map { SharedServer.at(address, token: $0) }
        #expect(Set(servers.map(ObjectIdentifier.init)).count == tokens.count)
        for (token, server) in zip(tokens, servers) { #expect(SharedServer.at(address, token: token) === server) }
    }

    @Test("No description of a token contains its text")
    func descriptions() {
        let (value, file) = (DefaultsToken.value("secret"), DefaultsToken.file("/run/token"))
        var dumped = "\(value) \(String(reflecting: value))"
        dump(value, to: &dumped)
        dump([Optional(value)], to: &dumped)
        #expect(!dumped.contains("secret"))
        #expect("\(file)" == "token of /run/token")
    }
}
