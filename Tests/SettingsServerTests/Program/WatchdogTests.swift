import Dispatch
import HTTPServer
import SettingsAPI
import SettingsEngine
import SettingsModel
import SettingsServer
import SettingsStorage
import TestSupport
import Testing

/// A call of `checkProgress` reports to the watchdog of the service manager (feeds it) if all parts of the daemon have
/// made progress since the last report. More than two reports show that the parts make progress repeatedly.
@Suite(.ownThread)
struct WatchdogTests {
    /// Has one event for each report to the watchdog of the service manager.
    private let feedings = EventLog()
    private let logLines = EventLog()

    private func watchdog(_ parts: [Watchdog.Part]) -> Watchdog {
        let log = Log(level: .info, clock: { Timestamp.now() }, write: { [logLines] in logLines.add($0) })
        return Watchdog(parts, log) { [feedings] in feedings.add("feeding") }
    }

    /// Expects that `checkProgress` logs the blocked part `name` and does not feed the watchdog of the service manager,
    /// and that `checkProgress` feeds this watchdog again after `unblock`.
    private func expectReport(_ watchdog: Watchdog, _ name: String, unblock: () -> Void) throws {
        let count = feedings.count("feeding")
        try eventually {
            watchdog.checkProgress()
            return logLines.all.contains { $0.contains("\(name) made no progress") }
        }
        for _ in 0..<100 { watchdog.checkProgress() }
        // A check that began before the part was blocked may still feed the watchdog of the service manager once.
        #expect(feedings.count("feeding") <= count + 1)
        unblock()
        try eventually {
            watchdog.checkProgress()
            return feedings.count("feeding") > count + 2
        }
    }

    @Test("A commit stage that is blocked in a flush is logged, and stops the reports until the flush ends")
    func commitStage() throws {
        // Each flush of this log is blocked until `releaseFlush`.
        let log = ScriptedLog(isGated: true)
        let store = Store(State(epoch: try #require(Epoch("e0"))), log: log) { Timestamp(milliseconds: 1000) }
        let watchdog = watchdog([
            Watchdog.Part("the decide stage") { store.runAfterDecideSlice($0) },
            Watchdog.Part("the commit stage") { store.runAfterCommitBatches($0) },
        ])
        try eventually {
            watchdog.checkProgress()
            return feedings.count("feeding") > 2
        }
        let results = CollectedResults()
        #expect(store.enqueue(WriteID(low: 1), try .put("a", 1), for: results) == nil)
        log.awaitFlushStart()
        try expectReport(watchdog, "the commit stage") { log.releaseFlush() }
        #expect(results.awaitFurther(1).count == 1)
    }

    @Test("A blocked event loop is logged, and stops the reports until it runs again")
    func loop() throws {
        let server = try TestServer(loops: 2)
        let parts = server.server.loops.map { loop in Watchdog.Part("event loop \(loop.index)") { loop.run($0) } }
        let watchdog = watchdog(parts)
        try eventually {
            watchdog.checkProgress()
            return feedings.count("feeding") > 2
        }
        let gate = DispatchSemaphore(value: 0)
        let isBlocked = DispatchSemaphore(value: 0)
        server.server.loops[1].run {
            isBlocked.signal()
            gate.patientWait()
        }
        isBlocked.patientWait()
        try expectReport(watchdog, "event loop 1") { gate.signal() }
    }
}
