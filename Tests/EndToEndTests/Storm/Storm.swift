import Dispatch
import Foundation
import SettingsAPI
import SettingsModel
import Synchronization
import TestSupport

/// A randomized test: for some seconds, writers, watchers and readers use a daemon that is stopped and, in a short
/// storm, also killed. The result lists inconsistencies in the answers that the clients received, at most three for
/// each reader.
final class Storm: Sendable {
    let seed: UInt64
    /// Starts and restarts the daemon or the daemons. A life is the time from a start to the next kill or stop.
    let lives: DaemonLives
    let progress = WriteProgress()
    /// The maximum number of commits in the daemon's history.
    let history: Int
    /// True if the writers write so much that the daemon disconnects slow readers.
    let hasLargeWrites: Bool
    /// The time at which the writers stop, in nanoseconds of the monotonic clock `HistoryClient.now`.
    private let end: UInt64
    private let seconds: Double
    private let configuration: TemporaryDirectory

    /// The inconsistencies that the test found, and the number of events of each kind.
    struct Outcome: Sendable {
        var faults: [String] = []
        var tally: [String: Int] = [:]
    }

    /// The result of one participant.
    private enum ParticipantResult: Sendable {
        case answers([StormAnswer])
        case transcript(Transcript)
        case readings(Readings)
        case lives([StormLife])
    }

    /// - Parameter isShared: Whether three daemons share an etcd.
    init(seed: UInt64, seconds: Double, isShared: Bool = false) throws {
        self.seed = seed
        self.seconds = seconds
        var random = SeededGenerator(seed: seed)
        // With a short history, a pausing watcher falls behind the history.
        history = random.chance(oneIn: 2) ? 30 + random.below(100) : 100_000
        // A long storm with large writes has more commits than the check can read, and snapshots would remove its first
        // journals.
        hasLargeWrites = random.chance(oneIn: 3) && seconds < 20
        configuration = try TemporaryDirectory()
        let file = try configuration.file(
            "settingsd.json",
            #"{"history":{"commits":\#(history),"bytes":1000000000},"loops":\#(1 + random.below(3))}"#)
        lives = try DaemonLives(options: ["--config", file], isShared: isShared)
        end = HistoryClient.now + UInt64(seconds * 1e9)
    }

    /// True if the writers must stop.
    var isPastEnd: Bool { HistoryClient.now >= end }

    /// Runs the storm and checks its results.
    func run() async throws -> Outcome {
        var random = SeededGenerator(seed: seed &+ 1)
        let (writers, watchers, readers) = (2 + random.below(4), 24 + random.below(24), 8)
        let seeds = (0..<(writers + watchers + readers)).map { _ in random.next() }
        progress.begin(writers: writers)
        let parts = try await ConcurrentClients.run(seeds.count + 1) { [self] number -> [ParticipantResult] in
            // The last call ends and restarts the daemon while the clients run.
            guard number < seeds.count else { return [.lives(try endDaemons(SeededGenerator(seed: seed &+ 2)))] }
            let random = SeededGenerator(seed: seeds[number])
            switch number {
            case ..<writers:
                defer { progress.endWriter() }
                return [.answers(try StormWriter(number, in: self, random).run())]
            case ..<(writers + watchers):
                return [.transcript(try watch(number, random))]
            default:
                return [.readings(try read(number, random))]
            }
        }
        let remaining = try (0..<lives.daemonCount).reduce(0) { try $0 + remainingWatchers(of: $1) }
        var outcome = check(parts, try lives.stop())
        if remaining > 0 {
            outcome.faults.append("seed \(seed): the daemon counts \(remaining) watchers after all have disconnected")
        }
        return outcome
    }

    /// A daemon's count of watchers, after the daemon had time to remove the disconnected watchers.
    private func remainingWatchers(of number: Int) throws -> Int {
        let end = HistoryClient.now + Patience.maximumDelivery
        while true {
            let peer = try lives.connect(for: number)
            let count = try peer.watcherCount()
            guard count != 0, HistoryClient.now < end else { return count }
            // This client receives nothing, so the call is a pause.
            _ = peer.isReadable(withinMilliseconds: 20)
        }
    }

    /// Stops the daemon once, and in a short storm also kills it one to three times, with a restart after each. Returns
    /// the ended lives.
    private func endDaemons(_ random: SeededGenerator) throws -> [StormLife] {
        var random = random
        var ends: [StormLife] = []
        // A long storm has few restarts, so that quiet streams receive keep-alives.
        let count = seconds > 20 ? 1 : 2 + random.below(3)
        let cleanStop = random.below(count)
        for number in 0..<count {
            let until = end - UInt64(seconds * 1e9) / UInt64(count + 1) * UInt64(count - number)
            while HistoryClient.now < until, !progress.isOver {
                progress.wait(forMore: 10 + random.below(40), atMost: 1)
            }
            let isKilled = number != cleanStop
            var endedAt: UInt64 = 0
            let lastRevision = try lives.replaceDaemons {
                if endedAt == 0 { endedAt = HistoryClient.now }
                try isKilled ? $0.killAtOnce() : $0.stop()
            }
            ends.append(StormLife(endedAt: endedAt, isKilled: isKilled, last: lastRevision))
        }
        return ends
    }

    private func watch(_ number: Int, _ random: SeededGenerator) throws -> Transcript {
        var random = random
        let usesSuitePath = random.chance(oneIn: 2)
        let bulkOrQuiet = random.pick([StormWrites.bulk, StormWrites.quiet])
        let name = random.chance(oneIn: hasLargeWrites ? 2 : 5) ? bulkOrQuiet : random.pick(StormWrites.suites)
        let others = StormWrites.suites.filter { _ in random.chance(oneIn: 2) }
        let suites = try Set(usesSuitePath ? [name] : [name] + others).map { try SuiteName($0) }.sorted()
        var watched = Watched(suites, usesSuitePath: usesSuitePath)
        if random.chance(oneIn: 2) {
            watched.keys = try StormWrites.keys.filter { _ in random.chance(oneIn: 5) }.map { try KeyName($0) }
        }
        if random.chance(oneIn: 3) { watched.prefixes = StormWrites.prefixes.filter { _ in random.chance(oneIn: 4) } }
        return try StormWatcher(number, watched, in: self, random).run()
    }

    private func read(_ number: Int, _ random: SeededGenerator) throws -> Readings {
        var random = random
        let key = random.chance(oneIn: 3) ? nil : try KeyName(random.pick(StormWrites.keys))
        return try StormReader(number, SuiteName(random.pick(StormWrites.suites)), key, in: self, random).run()
    }

    private func check(_ parts: [ParticipantResult], _ journal: JournaledCommits) -> Outcome {
        var record = StormRecord(journal: journal, lives: [], history: history)
        var answers: [StormAnswer] = []
        for part in parts {
            switch part {
            case .answers(let writerAnswers): answers += writerAnswers
            case .lives(let lives): record.lives = lives
            case .transcript, .readings: break
            }
        }
        for answer in answers {
            if let revision = answer.revision { record.acknowledged[revision] = answer.at }
        }
        var outcome = Outcome()
        outcome.faults = record.faults(in: answers)
        outcome.tally = [
            "commits": journal.commits.count, "ends of the daemon": record.lives.count,
            "storms with large writes": hasLargeWrites ? 1 : 0,
        ]
        for part in parts {
            switch part {
            case .transcript(let transcript):
                let check = TranscriptCheck(transcript, record)
                if !check.violations.isEmpty { outcome.faults.append(check.report(seed: seed)) }
                outcome.tally.merge(check.tally, uniquingKeysWith: +)
            case .readings(let readings):
                let check = ReadingCheck(readings, record)
                outcome.faults += check.violations.prefix(3).map { "seed \(seed): \($0)" }
                outcome.tally.merge(check.tally, uniquingKeysWith: +)
            case .answers, .lives: break
            }
        }
        return outcome
    }
}

/// The number of acknowledged commits so far, for threads that wait for more of them.
final class WriteProgress: Sendable {
    private struct State {
        var commits = 0
        var writers = Int.max
        var waiting: [(commits: Int, signal: DispatchSemaphore)] = []
    }

    private let state = Mutex(State())

    /// True if all writers have ended.
    var isOver: Bool { state.withLock { $0.writers == 0 } }

    func countCommit() {
        change { $0.commits += 1 }
    }

    func begin(writers: Int) {
        change { $0.writers = writers }
    }

    func endWriter() {
        change { $0.writers -= 1 }
    }

    /// Waits until `count` more commits are acknowledged, all writers have ended, or the time is over.
    func wait(forMore count: Int, atMost seconds: Int = 10) {
        let signal = DispatchSemaphore(value: 0)
        change { $0.waiting.append(($0.commits + count, signal)) }
        _ = signal.wait(timeout: .now() + .seconds(seconds))
    }

    private func change(_ body: (inout State) -> Void) {
        state.withLock { state in
            body(&state)
            state.waiting.removeAll { commits, signal in
                guard state.writers == 0 || state.commits >= commits else { return false }
                signal.signal()
                return true
            }
        }
    }
}
