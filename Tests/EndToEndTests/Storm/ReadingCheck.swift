import SettingsAPI
import SettingsModel

/// Holds what somebody read against what was there.
struct ReadingCheck {
    let record: StormRecord
    let readings: Readings
    private(set) var violations: [String] = []
    private(set) var tally: [String: Int] = [:]

    private var model: WatchedModel
    private let commits: [Commit]
    private var position = 0
    private var furthest = Revision.zero

    init(_ readings: Readings, _ record: StormRecord) {
        self.readings = readings
        self.record = record
        let watched = Watched([readings.suite], isOne: true)
        model = WatchedModel(watched)
        commits = record.truth.commits.filter(watched.concerns)
        for reading in readings.all { judge(reading) }
    }

    private mutating func judge(_ reading: Readings.Reading) {
        func told(_ fault: String) -> String { "\(readings.target), \(reading): \(fault)" }
        switch reading.told {
        case .answer(let status, let code, let tag, let place, let body):
            tally["readings \(status)", default: 0] += 1
            guard place.epoch == record.truth.epoch, place.revision >= furthest,
                reading.life >= record.lives.count || place.revision <= record.lives[reading.life].last
            else { return violations.append(told("the cursor is of another epoch, or goes back, or ahead")) }
            furthest = place.revision
            let begin = position
            while position < commits.count, commits[position].revision <= furthest {
                model.apply(commits[position])
                position += 1
            }
            let faults = [
                fault(status, code, tag, body, known: reading.known),
                early(reading, status, code, tag, since: commits[begin..<position]),
            ]
            violations += faults.compactMap { $0.map(told) }
        case .silence: violations.append(told("nothing came long after the time was up"))
        case .nonsense(let text): violations.append(told(text))
        case .left: tally["readings left", default: 0] += 1
        case .lost:
            tally["readings lost", default: 0] += 1
            if reading.life < record.lives.count, reading.at < record.lives[reading.life].endedAt {
                violations.append(told("the connection was lost to a daemon that was well"))
            }
        }
    }

    /// What is wrong with the content of an answer.
    private func fault(
        _ status: Int, _ code: String?, _ tag: Revision?, _ body: JSONValue?, known: Revision?
    ) -> String? {
        guard let suite = model.suites[readings.suite] else {
            return code == "unknown_suite" ? nil : "the suite does not exist there"
        }
        guard let key = readings.key else {
            switch status {
            case 200:
                guard let state = body.flatMap({ try? SuiteState(json: $0) }) else { return "that is no suite" }
                let values = Dictionary(state.contents.values.map { ($0.key, $0.value) }) { one, _ in one }
                return values == suite.values && state.revision == suite.revision && tag == suite.revision
                    && state.contents.schemaRevision == suite.schema ? nil : "there is \(suite)"
            case 304: return tag == known && tag == suite.revision ? nil : "it is modified: there is \(suite)"
            default: return "there is \(suite)"
            }
        }
        let isCurrent = suite.revisions[key].map { $0 == tag } ?? true
        switch (status, code) {
        case (200, _):
            guard let setting = body.flatMap({ try? SettingState(json: $0) }) else { return "that is no setting" }
            return setting.value == suite.values[key] && setting.source.isReadable && setting.revision == tag
                && isCurrent ? nil : "there is \(suite)"
        case (304, _): return suite.values[key] != nil && tag == known && isCurrent ? nil : "there is \(suite)"
        case (404, "not_set"), (404, "unknown_key"):
            return suite.values[key] == nil && suite.invalid[key] == nil ? nil : "there is \(suite)"
        case (409, _): return suite.invalid[key] != nil ? nil : "there is \(suite)"
        default: return "there is \(suite)"
        }
    }

    /// Whether it was answered before the time was up, without another answer to give.
    private func early(
        _ reading: Readings.Reading, _ status: Int, _ code: String?, _ tag: Revision?, since commits: ArraySlice<Commit>
    ) -> String? {
        let ask = Ask(
            life: reading.life, form: .poll(wait: reading.wait, limit: nil, isLatest: false), at: reading.askedAt)
        guard reading.at - reading.askedAt < ask.least else { return nil }
        if reading.life < record.lives.count, !record.lives[reading.life].isKilled,
            reading.at >= record.lives[reading.life].endedAt
        {
            return nil
        }
        let isAnother = tag != nil && tag != reading.known && (status == 200 || reading.known != nil)
        // That the suite was dropped meanwhile is another answer, too.
        let isGone = code == "unknown_suite" && commits.contains { $0.drops(readings.suite) }
        return isAnother || isGone || code == "unknown_key" ? nil : "that was too early"
    }
}
