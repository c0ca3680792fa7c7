import SettingsAPI
import SettingsModel
import TestSupport

/// What a writer was told of one of its writes.
struct StormAnswer: Sendable {
    /// What the write was.
    let request: String
    let life: Int
    let at: UInt64
    /// The key that it was sent with, the same each time.
    let requestKey: String?
    let told: Told

    enum Told: Sendable {
        case setting(SettingState)
        case summary(WriteSummary)
        /// Nothing was done.
        case refused(Int)
        case nonsense(String)
    }

    /// The commit that it tells of; nil if there was none.
    var revision: Revision? {
        switch told {
        case .setting(let setting): setting.changed == true && !setting.isDryRun ? setting.revision : nil
        case .summary(let summary): summary.changed && !summary.isDryRun ? summary.revision : nil
        case .refused, .nonsense: nil
        }
    }
}

/// Somebody who writes one thing after the other, and asks again where an answer was lost, if it may.
final class StormWriter {
    private let number: Int
    private let storm: Storm
    private var writes: StormWrites
    private var answers: [StormAnswer] = []
    private var connection: (client: RawClient, life: Int)?

    init(_ number: Int, in storm: Storm, _ random: SeededGenerator) {
        self.number = number
        self.storm = storm
        writes = StormWrites(random, isGlutted: storm.isGlutted)
    }

    func run() throws -> [StormAnswer] {
        var count = 0
        while !storm.isLate {
            count += 1
            var request = writes.next()
            let key = writes.random.chance(oneIn: 2) ? "writer-\(number)-\(count)" : nil
            if let key { request.fields.append("Idempotency-Key: \(key)") }
            try perform(request, key)
        }
        return answers
    }

    private func perform(_ request: Request, _ key: String?) throws {
        for _ in 0..<20 {
            let (client, life) = try connection ?? storm.lives.connectToLife()
            connection = (client, life)
            do {
                try client.send(request.bytes)
                let answer = try client.readResponse()
                if answer.field("Connection") == "close" { connection = nil }
                // A stop refuses what it does not do any more.
                if answer.status == 503, key != nil { continue }
                let told = Self.read(answer)
                answers.append(
                    StormAnswer(
                        request: "\(request.method) \(request.target)", life: life, at: HistoryClient.now,
                        requestKey: key, told: told))
                if answers.last?.revision != nil { storm.tide.rise() }
                return
            } catch RawClient.Failure.timeout {
                throw RawClient.Failure.timeout
            } catch is RawClient.Failure {
                connection = nil
                if key == nil { return }
            }
        }
    }

    private static func read(_ answer: RawResponse) -> StormAnswer.Told {
        guard answer.status < 300 else {
            return [404, 409, 422, 503].contains(answer.status)
                ? .refused(answer.status) : .nonsense("\(answer.status) \(answer.text)")
        }
        do {
            let json = try JSONValue(parsing: answer.body)
            return json["changes"] == nil
                ? .setting(try SettingState(json: json)) : .summary(try WriteSummary(json: json))
        } catch {
            return .nonsense("\(error) in \(answer.text)")
        }
    }
}

extension StormRecord {
    /// What is wrong with what writers were told.
    func faults(in answers: [StormAnswer]) -> [String] {
        var keys: [String: [Revision]] = [:]
        for commit in truth.commits {
            if let key = commit.requestKey { keys[key.text, default: []].append(commit.revision) }
        }
        var faults: [String] = []
        for (key, revisions) in keys where revisions.count > 1 {
            // What was forgotten may be done again.
            guard let first = revisions.first, !isForgotten(first, at: revisions[1]) else { continue }
            faults.append("the write \(key) was made at \(revisions)")
        }
        for answer in answers {
            if case .nonsense(let text) = answer.told { faults.append("\(answer.request): \(text)") }
            guard let revision = answer.revision else { continue }
            guard let commit = truth[revision] else {
                faults.append("\(answer.request) was acknowledged as \(revision), which is gone")
                continue
            }
            if commit.requestKey?.text != answer.requestKey { faults.append("\(revision) is of another request") }
            if !answer.isTrue(of: commit) { faults.append("\(answer) is not \(commit)") }
        }
        return faults
    }
}

extension StormAnswer {
    /// Whether it tells what the commit did.
    fileprivate func isTrue(of commit: Commit) -> Bool {
        let changes = commit.changes.map { change in
            var change = change
            change.record = Change.Record()
            return change
        }
        switch told {
        case .setting(let setting):
            guard let change = changes.first, changes.count == 1 else { return false }
            return setting.key == change.key && setting.suite == change.suite && setting.value == change.new
                && setting.source == change.source && setting.previous?.value == change.old
                && setting.previous?.source == change.oldSource
        case .summary(let summary): return summary.changes == changes
        case .refused, .nonsense: return true
        }
    }
}
