import SettingsModel

/// An answer as it came.
struct Answer {
    let status: Int
    let fields: [(name: String, value: String)]
    var body: [UInt8] = []

    var text: String { String(decoding: body, as: UTF8.self) }
    /// The body; a value of the greatest depth stands some levels down in it.
    var json: JSONValue? { try? JSONValue(parsing: body, maximumDepth: JSONValue.maximumDepthAroundValues) }
    /// The revision of the cursor that every answer carries.
    var revision: Revision? { field("Settings-Cursor").flatMap { Cursor($0)?.revision } }
    /// The type without its parameters.
    var type: String { String((field("Content-Type") ?? "").prefix { $0 != ";" }) }
    /// Whether it says that a write changed something.
    var tellsOfChange: Bool { json?["changed"] == true && json?["dryRun"] == nil && json?["replayed"] == nil }

    /// The value of the first field of that name, in whatever case it is written.
    func field(_ name: String) -> String? {
        fields.first { $0.name.lowercased() == name.lowercased() }?.value
    }

    /// Where the body begins; nil if the head is not complete.
    static func endOfHead(_ bytes: [UInt8]) -> Int? {
        guard bytes.count >= 4 else { return nil }
        let end = Array("\r\n\r\n".utf8)
        return (4...bytes.count).first { Array(bytes[($0 - 4)..<$0]) == end }
    }

    init(head: ArraySlice<UInt8>) throws {
        let lines = String(decoding: head, as: UTF8.self).split(separator: "\r\n")
        let words = (lines.first ?? "").split(separator: " ", maxSplits: 2)
        guard words.count >= 2, words[0] == "HTTP/1.1", let status = Int(words[1]) else {
            throw Peer.Failure.malformed(String(lines.first ?? ""))
        }
        self.status = status
        fields = try lines.dropFirst().map { line in
            guard let colon = line.firstIndex(of: ":") else { throw Peer.Failure.malformed(String(line)) }
            return (String(line[..<colon]), String(line[line.index(after: colon)...].drop { $0 == " " }))
        }
    }
}
