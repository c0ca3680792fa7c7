import SettingsAPI
import SettingsModel
import TestSupport

/// What somebody read who waits for another answer than the one it has.
struct Readings: Sendable {
    let suite: SuiteName
    /// Nil for the whole suite.
    let key: KeyName?
    var all: [Reading] = []

    struct Reading: Sendable {
        let life: Int
        /// The tag that was sent.
        let known: Revision?
        let wait: Int
        let askedAt: UInt64
        var at: UInt64 = 0
        var told: Told = .lost
    }

    enum Told: Sendable {
        case answer(status: Int, code: String?, tag: Revision?, place: Cursor, body: JSONValue?)
        case left, lost, silence
        case nonsense(String)
    }

    var target: String {
        "/v1/suites/\(suite.text)" + (key.map { "/keys/\($0.text.inTarget)" } ?? "")
    }
}

/// Follows a setting or a suite by reading it again and again, each time waiting for another answer.
final class StormReader {
    private let storm: Storm
    private var random: SeededGenerator
    private var readings: Readings
    private var tag: Revision?
    private var connection: (client: RawClient, life: Int)?

    init(_ suite: SuiteName, _ key: KeyName?, in storm: Storm, _ random: SeededGenerator) {
        readings = Readings(suite: suite, key: key)
        self.storm = storm
        self.random = random
    }

    func run() throws -> Readings {
        while !storm.tide.isOver {
            if random.chance(oneIn: 10) {
                connection = nil
                storm.tide.wait(forMore: 20)
            }
            if random.chance(oneIn: 15) { tag = nil }
            try read()
        }
        return readings
    }

    private func read() throws {
        let (client, life) = try connection ?? storm.lives.connectToLife()
        connection = nil
        let wait = random.pick([0, 1, 2, 3, 10, 60])
        var reading = Readings.Reading(life: life, known: tag, wait: wait, askedAt: HistoryClient.now)
        var request = Request("GET \(readings.target)?wait=\(wait)")
        if let tag { request.fields.append("If-None-Match: \"\(tag)\"") }
        do {
            try client.send(request.bytes)
            reading.told = try hear(client, &reading, leavesAfter: random.chance(oneIn: 3) ? random.below(2000) : nil)
        } catch {
            reading.told = .lost
        }
        reading.at = HistoryClient.now
        readings.all.append(reading)
        // What is answered at once is not asked for all the time.
        if wait == 0 || tag == nil { storm.tide.wait(forMore: 3) }
    }

    private func hear(
        _ client: RawClient, _ reading: inout Readings.Reading, leavesAfter: Int?
    ) throws -> Readings.Told {
        let longest = min(leavesAfter ?? .max, reading.wait * 1000 + Int(Patience.telling / 1_000_000))
        var left = longest
        while !client.hasNews(within: min(left, 50)) {
            left -= 50
            guard left <= 0 || storm.tide.isOver else { continue }
            if random.chance(oneIn: 2) { client.reset() }
            return leavesAfter != nil || storm.tide.isOver ? .left : .silence
        }
        let answer = try client.readResponse()
        if answer.field("Connection") != "close" { connection = (client, reading.life) }
        guard let place = answer.field("Settings-Cursor").flatMap({ Cursor($0) }) else {
            return answer.status == 503 ? .left : .nonsense("\(answer.status) \(answer.fields) \(answer.text)")
        }
        tag = answer.field("ETag").flatMap { EntityTag($0) }?.revision
        return .answer(
            status: answer.status, code: answer.json?["code"]?.string, tag: tag, place: place, body: answer.json)
    }
}
