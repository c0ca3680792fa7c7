internal import HTTPWire
internal import SettingsModel

/// Suites as they were last shown whole, so that showing one again is a copy.
///
/// Bounded by number and by bytes; what was not asked for longest makes room. Each loop has its own.
struct RenderedSuites {
    private static let mostEntries = 32
    private static let mostBytes = 8 << 20
    /// Longer answers are made anew each time: they would push everything else out.
    private static let longestBody = 1 << 20

    private struct Entry {
        let suite: SuiteName
        let revision: Revision
        var cursor: Cursor
        var body: [UInt8]
        /// Where the text of the cursor stands in the body: the only part that changes without the suite.
        var cursorPlace: Range<Int>
    }

    /// The one asked for last comes last.
    private var entries: [Entry] = []

    /// The body for a suite at a place in history, if it was rendered before and has not changed.
    mutating func body(of suite: borrowing Suite, at cursor: Cursor) -> [UInt8]? {
        let (id, revision) = (suite.id, suite.revision)
        guard let position = entries.firstIndex(where: { $0.revision == revision && $0.suite == id }) else {
            return nil
        }
        if position != entries.count - 1 { entries.append(entries.remove(at: position)) }
        let last = entries.count - 1
        if entries[last].cursor != cursor {
            let text = Array(cursor.description.utf8)
            let place = entries[last].cursorPlace
            entries[last].body.replaceSubrange(place, with: text)
            entries[last].cursorPlace = place.lowerBound..<(place.lowerBound + text.count)
            entries[last].cursor = cursor
        }
        return entries[last].body
    }

    /// Keeps a body that was rendered.
    mutating func keep(_ body: [UInt8], of suite: borrowing Suite, at cursor: Cursor) {
        guard body.count <= Self.longestBody, let place = Self.place(of: cursor, in: body) else { return }
        let id = suite.id
        entries.removeAll { $0.suite == id }
        entries.append(
            Entry(suite: suite.id, revision: suite.revision, cursor: cursor, body: body, cursorPlace: place))
        var bytes = entries.reduce(0) { $0 + $1.body.count }
        while entries.count > Self.mostEntries || bytes > Self.mostBytes {
            bytes -= entries.removeFirst().body.count
        }
    }

    /// Where the cursor stands. Before it there are only a name without quotation marks and numbers.
    private static func place(of cursor: Cursor, in body: [UInt8]) -> Range<Int>? {
        let name = Array("\"cursor\":\"".utf8)
        let text = Array(cursor.description.utf8)
        var start = 0
        while start + name.count + text.count < body.count {
            if body[start] == name[0], body[start..<(start + name.count)].elementsEqual(name) {
                let place = (start + name.count)..<(start + name.count + text.count)
                return body[place].elementsEqual(text) ? place : nil
            }
            start += 1
        }
        return nil
    }
}
