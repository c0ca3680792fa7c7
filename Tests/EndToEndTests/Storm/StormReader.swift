import SettingsAPI
import SettingsModel
import TestSupport

/// The answers to a reader that reads a setting or a suite with `wait`.
struct Readings: Sendable {
    let suite: SuiteName
    /// Nil for the whole suite.
    let key: KeyName?
    var all: [Reading] = []

    struct Reading: Sendable {
        /// The number of restarts of the daemon before the read.
        let life: Int
        /// The tag in If-None-Match.
        let sentTag: Revision?
        /// The requested duration of the wait in seconds.
        let wait: Int
        /// The times of sending and of the answer, in nanoseconds of a monotonic clock.
        let askedAt: UInt64
        var at: UInt64 = 0
        var content: Content = .lost
    }

    enum Content: Sendable {
        case answer(status: Int, code: String?, tag: Revision?, cursor: Cursor, body: JSONValue?)
        /// The reader disconnected before an answer arrived.
        case disconnected
        /// The connection was lost.
        case lost
        /// No answer arrived long after the end of the wait.
        case noAnswer
        /// An answer that no correct daemon sends.
        case unexpected(String)
    }

    var target: String {
        "/v1/suites/\(suite.text)" + (key.map { "/keys/\($0.text.inTarget)" } ?? "")
    }
}

/// A client in a `Storm`, a test that kills the daemon while clients write and watch. The client follows a setting or a
/// suite with repeated waiting reads.
final class StormReader {
    private let number: Int
    private let storm: Storm
    private var random: SeededGenerator
    private var readings: Readings
    private var tag: Revision?
    private var connection: (client: RawClient, life: Int)?

    init(_ number: Int, _ suite: SuiteName, _ key: KeyName?, in storm: Storm, _ random: SeededGenerator) {
        self.number = number
        readings = Readings(suite: suite, key: key)
        self.storm = storm
        self.random = random
    }

    func run() throws -> Readings {
        while !storm.progress.isOver {
            if random.chance(oneIn: 10) {
                connection = nil
                storm.progress.wait(forMore: 20)
            }
            if random.chance(oneIn: 15) { tag = nil }
            try read()
        }
        return readings
    }

    private func read() throws {
        let (client, life) = try connection ?? storm.lives.connectToLife(for: number)
        connection = nil
        let wait = random.pick([0, 1, 2, 3, 10, 60])
        var reading = Readings.Reading(life: life, sentTag: tag, wait: wait, askedAt: HistoryClient.now)
        var request = Request("GET \(readings.target)?wait=\(wait)")
        if let tag { request.fields.append("If-None-Match: \"\(tag)\"") }
        do {
            try client.send(request.bytes)
            reading.content = try receive(
                client, &reading, disconnectsAfter: random.chance(oneIn: 3) ? random.below(2000) : nil)
        } catch {
            reading.content = .lost
        }
        reading.at = HistoryClient.now
        readings.all.append(reading)
        // The reader pauses after reads that do not wait, because they would keep the daemon busy.
        if wait == 0 || tag == nil { storm.progress.wait(forMore: 3) }
    }

    /// Receives the answer. The reader disconnects after `disconnectsAfter` milliseconds; nil if the reader waits
    /// for the answer.
    private func receive(
        _ client: RawClient, _ reading: inout Readings.Reading, disconnectsAfter: Int?
    ) throws -> Readings.Content {
        let longest = min(disconnectsAfter ?? .max, reading.wait * 1000 + Int(Patience.maximumDelivery / 1_000_000))
        var left = longest
        while !client.isReadable(withinMilliseconds: min(left, 50)) {
            left -= 50
            guard left <= 0 || storm.progress.isOver else { continue }
            if random.chance(oneIn: 2) { client.reset() }
            return disconnectsAfter != nil || storm.progress.isOver ? .disconnected : .noAnswer
        }
        let answer = try client.readResponse()
        if answer.field("Connection") != "close" { connection = (client, reading.life) }
        guard let cursor = answer.field("Settings-Cursor").flatMap({ Cursor($0) }) else {
            // A stopping daemon answers 503 without a cursor, which the check treats like a disconnection.
            return answer.status == 503
                ? .disconnected : .unexpected("\(answer.status) \(answer.fields) \(answer.text)")
        }
        tag = answer.field("ETag").flatMap { EntityTag($0) }?.revision
        return .answer(
            status: answer.status, code: answer.json?["code"]?.string, tag: tag, cursor: cursor, body: answer.json)
    }
}

/// A check of the answers to a reader against the commits.
struct ReadingCheck {
    let record: StormRecord
    let readings: Readings
    private(set) var violations: [String] = []
    private(set) var tally: [String: Int] = [:]

    private var model: WatchedModel
    private let commits: [Commit]
    private var position = 0
    private var highestCursor = Revision.zero

    init(_ readings: Readings, _ record: StormRecord) {
        self.readings = readings
        self.record = record
        let watched = Watched([readings.suite], usesSuitePath: true)
        model = WatchedModel(watched)
        commits = record.journal.commits.filter(watched.concerns)
        for reading in readings.all { check(reading) }
    }

    private mutating func check(_ reading: Readings.Reading) {
        func about(_ fault: String) -> String { "\(readings.target), \(reading): \(fault)" }
        switch reading.content {
        case .answer(let status, let code, let tag, let cursor, let body):
            tally["readings \(status)", default: 0] += 1
            guard cursor.epoch == record.journal.epoch, cursor.revision >= highestCursor,
                reading.life >= record.lives.count || cursor.revision <= record.lives[reading.life].last
            else {
                return violations.append(
                    about("the cursor is of another epoch, goes back, or is ahead of all commits of the life"))
            }
            highestCursor = cursor.revision
            let begin = position
            while position < commits.count, commits[position].revision <= highestCursor {
                model.apply(commits[position])
                position += 1
            }
            let faults = [
                fault(status, code, tag, body, sentTag: reading.sentTag),
                earlyAnswerFault(reading, status, code, tag, since: commits[begin..<position]),
            ]
            violations += faults.compactMap { $0.map(about) }
        case .noAnswer: violations.append(about("no answer arrived long after the end of the wait"))
        case .unexpected(let text): violations.append(about(text))
        case .disconnected: tally["readings without an answer", default: 0] += 1
        case .lost:
            tally["readings lost", default: 0] += 1
            if reading.life < record.lives.count, reading.at < record.lives[reading.life].endedAt {
                violations.append(about("the connection was lost while the daemon was running"))
            }
        }
    }

    /// The fault in the content of an answer, if any.
    private func fault(
        _ status: Int, _ code: String?, _ tag: Revision?, _ body: JSONValue?, sentTag: Revision?
    ) -> String? {
        guard let suite = model.suites[readings.suite] else {
            return code == "unknown_suite" ? nil : "the suite does not exist at this cursor"
        }
        guard let key = readings.key else {
            switch status {
            case 200:
                guard let state = body.flatMap({ try? SuiteState(json: $0) }) else { return "the body is not a suite" }
                let values = Dictionary(state.contents.values.map { ($0.key, $0.value) }) { one, _ in one }
                return values == suite.values && state.revision == suite.revision && tag == suite.revision
                    && state.contents.schemaRevision == suite.schema ? nil : "the suite is \(suite)"
            case 304: return tag == sentTag && tag == suite.revision ? nil : "the suite was modified: it is \(suite)"
            default: return "the suite is \(suite)"
            }
        }
        let isCurrent = suite.revisions[key].map { $0 == tag } ?? true
        switch (status, code) {
        case (200, _):
            guard let setting = body.flatMap({ try? SettingState(json: $0) }) else {
                return "the body is not a setting"
            }
            return setting.value == suite.values[key] && setting.source.isReadable && setting.revision == tag
                && isCurrent ? nil : "the suite is \(suite)"
        case (304, _): return suite.values[key] != nil && tag == sentTag && isCurrent ? nil : "the suite is \(suite)"
        case (404, "not_set"), (404, "unknown_key"):
            return suite.values[key] == nil && suite.invalid[key] == nil ? nil : "the suite is \(suite)"
        case (409, _): return suite.invalid[key] != nil ? nil : "the suite is \(suite)"
        default: return "the suite is \(suite)"
        }
    }

    /// The fault of an answer that came before the end of the wait without a change, if any.
    private func earlyAnswerFault(
        _ reading: Readings.Reading, _ status: Int, _ code: String?, _ tag: Revision?, since commits: ArraySlice<Commit>
    ) -> String? {
        let request = WatcherRequest(
            life: reading.life, kind: .poll(wait: reading.wait, limit: nil, isLatest: false), at: reading.askedAt)
        guard reading.at - reading.askedAt < request.shortestWait else { return nil }
        // A daemon that is asked to stop may answer a waiting read early.
        if reading.life < record.lives.count, !record.lives[reading.life].isKilled,
            reading.at >= record.lives[reading.life].endedAt
        {
            return nil
        }
        // With `If-None-Match`, the answer may come as soon as the tag differs. Without this field, the read waits
        // until there is a value, so only an answer with a value (200) may come early.
        let isModified = tag != nil && tag != reading.sentTag && (status == 200 || reading.sentTag != nil)
        // A drop of the suite during the wait also changes the answer. The daemon does not wait for a key that the
        // schema excludes (`unknown_key`).
        let isDropped = code == "unknown_suite" && commits.contains { $0.drops(readings.suite) }
        return isModified || isDropped || code == "unknown_key" ? nil : "the answer came before the end of the wait"
    }
}
