import ClientTestSupport
import Dispatch
import SettingsAPI
import SettingsHTTP
import SettingsModel
import TestSupport
import Testing

@testable import SettingsClient

/// The time that a setter takes with the default write mode, `.background`.
@Suite(.ownThread)
struct SetterTimeTests {
    private let names: SampleNames

    init() throws {
        names = try SampleNames()
    }

    /// The behaviour of a daemon.
    enum Daemon: CaseIterable, Sendable {
        case answering, silent, notRunning
    }

    @Test("No setter waits for the daemon", arguments: Daemon.allCases)
    func setters(_ daemon: Daemon) async throws {
        let directory = try TemporaryDirectory()
        let served = daemon == .answering ? try ServedDaemon() : nil
        let silent = daemon == .silent ? try ScriptedServer { _, peer, _ in _ = peer.read() } : nil
        let address =
            try served?.address(.unix) ?? silent?.address ?? ServerAddress("unix:\(directory.path)/nobody")
        let defaults = DefaultsAdapter(
            suite: names.app, keyStore: ClientKeys(), server: address, timeout: .seconds(120),
            outbox: .directory(directory.path + "/outbox"), arguments: [], log: DefaultsLog { _, _, _ in })
        let start = ContinuousClock.now
        for number in 1...100 {
            defaults.launchCount = number
            defaults[\.libraries] = ["\(number)"]
        }
        // The limit is far below the timeout of 120 s, and far above the delays of a busy machine.
        #expect(ContinuousClock.now - start < .seconds(30))
        #expect(defaults.launchCount == 100 && defaults.libraries == ["100"])
        guard let served else { return }
        try await defaults.flush()
        #expect(try served.client().blocking.send(.setting(names.launchCount, in: names.app)).value == 100)
    }
}
