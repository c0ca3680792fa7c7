/// A request that was sent once, to be sent again with another value under another name.
struct RequestTemplate {
    private let bytes: [UInt8]
    private let value: Range<Int>
    private let name: Range<Int>

    /// - Parameter replacements: what is put in other words for good, where it stands first.
    init(_ request: [UInt8], value text: String, replacing replacements: [(String, String)]) throws {
        var bytes = request
        for (old, new) in replacements {
            guard let end = bytes[...].end(of: Array(old.utf8)) else { throw CostFailure("a request has no \(old)") }
            bytes.replaceSubrange((end - old.utf8.count)..<end, with: new.utf8)
        }
        guard let end = bytes[...].end(of: Array(text.utf8)),
            let start = bytes[...].end(of: Array("idempotency-key: ".utf8), ignoringCase: true),
            let length = bytes[start...].firstIndex(of: UInt8(ascii: "\r")).map({ $0 - start })
        else { throw CostFailure("a write has no value or no name") }
        self.bytes = bytes
        value = (end - text.utf8.count)..<end
        name = start..<(start + length)
    }

    /// The request with another value of the same length, and with a name that no other has.
    func request(value text: Int) throws -> [UInt8] {
        let digits = Array("\(text)".utf8)
        guard digits.count == value.count else { throw CostFailure("\(text) does not fit") }
        var request = bytes
        request.replaceSubrange(value, with: digits)
        var number = UInt64.random(in: 0 ... .max)
        for position in name {
            let letter = UInt8(number % 26)
            request[position] = UInt8(ascii: "a") + letter
            number = number / 26 + UInt64(letter) << 32
        }
        return request
    }
}
