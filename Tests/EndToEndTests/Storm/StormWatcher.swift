import SettingsAPI
import SettingsModel
import TestSupport

/// A watcher in a `Storm`, a test that kills the daemon while clients write and watch. It alternates between polls and
/// streams, disconnects in different ways, and resumes after its last cursor.
final class StormWatcher {
    private let storm: Storm
    var random: SeededGenerator
    private(set) var transcript: Transcript
    private var cursor: Cursor?
    /// The cursor to which the watcher can return.
    private var savedCursor: Cursor?
    /// True if the storm is over and the watcher reads all remaining changes.
    private var readsRemainder = false
    /// The connection that the next poll reuses. `life` is the number of restarts of the daemon before the connection.
    private var connection: (client: RawClient, life: Int)?

    init(_ number: Int, _ watched: Watched, in storm: Storm, _ random: SeededGenerator) {
        transcript = Transcript(number, watched)
        self.storm = storm
        self.random = random
    }

    /// Watches until all writers have ended, and then reads all remaining changes.
    func run() throws -> Transcript {
        while !storm.progress.isOver {
            try runIteration()
        }
        connection = nil
        readsRemainder = true
        var hasMore = true
        while hasMore {
            // With several daemons, `wait` gives the daemon time to get the commits of the other daemons.
            let request = WatcherRequest(
                life: 0, since: cursor.map { .cursor($0) },
                kind: .poll(wait: storm.lives.daemonCount > 1 ? 1 : 0, limit: nil, isLatest: false),
                at: 0)
            hasMore = try poll(request, disconnectsAfter: nil)
        }
        return transcript
    }

    /// True if the watcher receives so much that a slow reader is disconnected.
    private var hasLargeWrites: Bool {
        storm.hasLargeWrites && transcript.watched.suites.contains { $0.text == StormWrites.bulk }
    }

    private func runIteration() throws {
        if random.chance(oneIn: 12) {
            connection = nil
            // The longest pause lets the history lose the cursor of the watcher.
            storm.progress.wait(forMore: random.pick([5, 30, storm.history + 20]))
        }
        switch random.below(40) {
        case 0:
            cursor = nil
            transcript.steps.append(.discardedState)
        case 1 where cursor != nil:
            savedCursor = cursor
            transcript.steps.append(.savedState)
        case 2:
            guard let savedCursor else { break }
            cursor = savedCursor
            transcript.steps.append(.returnedToSavedState)
        default: break
        }
        let since = cursor.map { cursor -> ResumePoint in
            random.chance(oneIn: 5) ? .revision(cursor.revision) : .cursor(cursor)
        }
        let disconnectsAfter = random.chance(oneIn: 2) ? random.pick([0, 1, 5, 30, 100, 400]) : nil
        // `send` sets `life` and `at`.
        var request = WatcherRequest(life: 0, since: since, kind: .stream, at: 0)
        if random.chance(oneIn: 3) {
            request.isSlow = random.chance(oneIn: hasLargeWrites ? 2 : 4)
            try stream(request, disconnectsAfter: disconnectsAfter ?? random.pick([300, 1000, 5000, 40_000]))
        } else {
            request.kind = .poll(
                wait: random.pick([nil, 0, 0, 1, 1, 2, 3, 10, 300]),
                limit: random.chance(oneIn: 3) ? random.pick([1, 2, 5, 50]) : nil, isLatest: random.chance(oneIn: 4))
            _ = try poll(request, disconnectsAfter: disconnectsAfter)
            // The watcher pauses after polls that do not wait, because they would keep the daemon busy.
            if request.wait == 0 || request.since == nil { storm.progress.wait(forMore: 3) }
        }
    }
}

/// Polls.
extension StormWatcher {
    func record(_ content: Received.Content, _ request: WatcherRequest) {
        transcript.steps.append(.received(Received(request: request, content: content, at: HistoryClient.now)))
    }

    /// Sends a request, and sets the members `life` and `at` of the request. Returns nil if the connection was lost.
    private func send(_ request: inout WatcherRequest, _ target: String, _ fields: [String]) throws -> RawClient? {
        if request.isSlow || random.chance(oneIn: 4) { connection = nil }
        let (client, life) =
            try connection
            ?? storm.lives.connectToLife(for: transcript.number, receiveBuffer: request.isSlow ? 4096 : nil)
        connection = nil
        request.life = life
        request.at = HistoryClient.now
        var httpRequest = Request("GET \(target)")
        httpRequest.fields = fields
        do {
            try client.send(httpRequest.bytes)
        } catch {
            record(.lost, request)
            return nil
        }
        return client
    }

    /// Disconnects with a reset or a close.
    private func disconnect(_ client: RawClient) {
        if random.chance(oneIn: 2) { client.reset() } else { client.close() }
    }

    /// Waits for data in short steps, so that the watcher notices the end of the storm. Returns false if no data
    /// arrived in time, or if the storm is over and `continuesAfterStorm` is false.
    private func waitForData(_ client: RawClient, milliseconds: Int?, continuesAfterStorm: Bool) -> Bool {
        var left = milliseconds ?? .max
        while left >= 0 {
            let step = min(left, 50)
            if client.isReadable(withinMilliseconds: step) { return true }
            left -= step
            if left == 0 || (storm.progress.isOver && !continuesAfterStorm) { return false }
        }
        return false
    }

    /// Sends one poll. Disconnects after `disconnectsAfter` milliseconds without data; never, if nil. Returns true if
    /// more changes may remain.
    private func poll(_ plan: WatcherRequest, disconnectsAfter: Int?) throws -> Bool {
        var request = plan
        guard case .poll(let wait, let limit, let isLatest) = request.kind else { return false }
        var target = transcript.watched.target
        if let since = request.since { target += "since=\(since)&" }
        if let wait { target += "wait=\(wait)&" }
        if let limit { target += "limit=\(limit)&" }
        if isLatest { target += "latest&" }
        // With Settings-Fresh, the daemon first gets the commits of the other daemons of the cluster. The target ends
        // with `?` or `&`, which the request omits.
        let client = try send(&request, String(target.dropLast()), readsRemainder ? ["Settings-Fresh: true"] : [])
        guard let client else { return true }
        let longest = request.wait * 1000 + Int(Patience.maximumDelivery / 1_000_000)
        if !waitForData(
            client, milliseconds: min(disconnectsAfter ?? .max, longest), continuesAfterStorm: readsRemainder)
        {
            guard disconnectsAfter != nil || storm.progress.isOver && !readsRemainder else {
                record(.noAnswer, request)
                return true
            }
            guard random.chance(oneIn: 3) else {
                record(.disconnected, request)
                disconnect(client)
                return true
            }
            client.endSending()
            (request.isHalfClosed, request.at) = (true, HistoryClient.now)
            guard
                waitForData(client, milliseconds: Int(Patience.maximumDelivery / 1_000_000), continuesAfterStorm: true)
            else {
                record(.noAnswer, request)
                return true
            }
        }
        do {
            if random.chance(oneIn: 25) {
                _ = try client.readHead()
                record(.disconnectedMidAnswer, request)
                disconnect(client)
                return true
            }
            let answer = try client.readResponse()
            if answer.field("Connection") != "close", !request.isHalfClosed { connection = (client, request.life) }
            return recordAnswer(answer, request)
        } catch {
            record(.lost, request)
            return true
        }
    }

    private func recordAnswer(_ answer: RawResponse, _ request: WatcherRequest) -> Bool {
        do {
            switch answer.status {
            case 200:
                let content = try SettingsObservation(json: JSONValue(parsing: answer.body))
                cursor = content.cursor
                switch content {
                case .state(let state): record(.state(state), request)
                case .changes(let changes):
                    record(.changes(changes), request)
                    return changes.hasMore
                }
            case 404: record(try absence(answer), request)
            case 503: record(.refused, request)
            default: record(.unexpected("\(answer.status) \(answer.text)"), request)
            }
        } catch {
            record(.unexpected("\(error) in \(answer.text)"), request)
        }
        return false
    }

    private func absence(_ answer: RawResponse) throws -> Received.Content {
        guard answer.json?["code"] == "unknown_suite", answer.field("Retry-After") != nil,
            let cursor = answer.field("Settings-Cursor").flatMap({ Cursor($0) })
        else { return .unexpected("\(answer.fields) \(answer.text)") }
        return .absent(cursor)
    }
}

/// Streams.
extension StormWatcher {
    /// Opens a stream, reads its events for `disconnectsAfter` milliseconds, and disconnects.
    private func stream(_ plan: WatcherRequest, disconnectsAfter: Int) throws {
        var request = plan
        var target = transcript.watched.target
        var fields = ["Accept: text/event-stream"]
        if let since = request.since {
            if random.chance(oneIn: 2) {
                fields.append("Last-Event-ID: \(since)")
                // The daemon must ignore `since` if the request has Last-Event-ID.
                target += "since=1&"
            } else {
                target += "since=\(since)&"
            }
        }
        guard let client = try send(&request, String(target.dropLast()), fields) else { return }
        let end = HistoryClient.now + UInt64(disconnectsAfter) * 1_000_000
        do {
            // The daemon waits up to 30 s for the creation of a suite. The other 6 s are for a busy machine.
            guard waitForData(client, milliseconds: 36_000, continuesAfterStorm: false) else {
                record(storm.progress.isOver ? .disconnected : .noAnswer, request)
                return disconnect(client)
            }
            let head = try client.readHead()
            guard head.status == 200, head.field("Content-Type")?.hasPrefix("text/event-stream") == true else {
                var answer = head
                answer.body = try client.readBody(of: head)
                _ = recordAnswer(answer, request)
                return
            }
            while HistoryClient.now < end {
                // After the storm, a slow reader reads the buffered events, or finds that the daemon has disconnected
                // it.
                if storm.progress.isOver, !request.isSlow || !client.isReadable(withinMilliseconds: 50) { break }
                if request.isSlow, random.chance(oneIn: hasLargeWrites ? 2 : 8) {
                    storm.progress.wait(forMore: random.pick(hasLargeWrites ? [20, 4000] : [20, 100, 400]))
                }
                guard waitForData(client, milliseconds: min(disconnectsAfter, 200), continuesAfterStorm: false) else {
                    continue
                }
                guard let piece = try nextPiece(client) else { return record(.ended, request) }
                recordPiece(piece, request)
            }
            if random.chance(oneIn: 4) {
                client.endSending()
                request.isHalfClosed = true
                while let piece = try nextPiece(client) { recordPiece(piece, request) }
                return record(.ended, request)
            }
            record(client.isReadable || request.isSlow ? .disconnectedMidAnswer : .disconnected, request)
            disconnect(client)
        } catch {
            record(.lost, request)
        }
    }

    /// The text of the next event of a stream; nil at its end. A stream that stops in the middle of its backlog ends
    /// with a retry line without an empty line, and its reader keeps its last cursor.
    private func nextPiece(_ client: RawClient) throws -> String? {
        do {
            return try client.readPiece()
        } catch RawClient.Failure.malformed(let rest) {
            let time = rest.dropFirst("retry: ".count).dropLast()
            guard rest == "retry: \(time)\n", Int(time) != nil else { throw RawClient.Failure.malformed(rest) }
            return nil
        }
    }

    private func recordPiece(_ piece: String, _ request: WatcherRequest) {
        do {
            guard let event = try StormEvent(piece, of: transcript.watched) else { return }
            cursor = event.cursor
            record(event.content, request)
        } catch {
            record(.unexpected("\(error) in \(piece)"), request)
        }
    }
}

/// The cursor and the content of a received event.
private struct StormEvent {
    let cursor: Cursor
    let content: Received.Content

    struct Malformed: Error {}

    /// Parses the text of one event; nil if the text has only a retry delay.
    init?(_ piece: String, of watched: Watched) throws {
        var parser = EventStreamParser()
        let events = parser.feed(piece.utf8)
        if events.isEmpty, parser.lastEventID.isEmpty, parser.retry != nil { return nil }
        guard events.count < 2, let cursor = Cursor(parser.lastEventID) else { throw Malformed() }
        self.cursor = cursor
        guard let found = events.first else {
            content = .cursorOnly(cursor, isLast: parser.retry != nil)
            return
        }
        let event = try StreamEvent(
            name: found.type, data: JSONValue(parsing: Array(found.data.utf8)),
            ofSuite: watched.usesSuitePath ? watched.suites[0] : nil)
        guard let event, event.cursor == cursor else { throw Malformed() }
        switch event {
        case .state(let state): content = .state(state)
        case .commit(let commit): content = .commit(commit)
        case .missing(_, let cursor): content = .missing(cursor)
        }
    }
}
