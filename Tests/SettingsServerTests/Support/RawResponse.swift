/// An answer as it came.
struct RawResponse: Equatable {
    struct Field: Equatable {
        let name: String
        let value: String
    }

    let status: Int
    let reason: String
    let fields: [Field]
    var body: [UInt8] = []

    var text: String { String(decoding: body, as: UTF8.self) }

    /// The value of the first field of that name, in whatever case it is written.
    func field(_ name: String) -> String? {
        fields.first { $0.name.lowercased() == name.lowercased() }?.value
    }

    /// Where the body begins; nil if the head is not complete.
    static func endOfHead(_ bytes: [UInt8]) -> Int? {
        guard bytes.count >= 4 else { return nil }
        return (4...bytes.count).first { bytes[($0 - 4)..<$0].elementsEqual("\r\n\r\n".utf8) }
    }

    init(head: ArraySlice<UInt8>) throws {
        let lines = String(decoding: head, as: UTF8.self).split(separator: "\r\n", omittingEmptySubsequences: true)
        let words = (lines.first ?? "").split(separator: " ", maxSplits: 2)
        guard words.count >= 2, words[0] == "HTTP/1.1", let status = Int(words[1]) else {
            throw RawClient.Failure.malformed(String(lines.first ?? ""))
        }
        self.status = status
        reason = words.count > 2 ? String(words[2]) : ""
        fields = try lines.dropFirst().map { line in
            guard let colon = line.firstIndex(of: ":") else { throw RawClient.Failure.malformed(String(line)) }
            return Field(
                name: String(line[..<colon]),
                value: String(line[line.index(after: colon)...].drop { $0 == " " }))
        }
    }
}
