/// A recorded write request, from which requests with other values are made. Each request has its own
/// `Idempotency-Key`, so that the daemon does not take it for a repetition of another request.
struct RequestTemplate {
    private let bytes: [UInt8]
    /// The range of the value in the body.
    private let value: Range<Int>
    /// The range of the value of the field `Idempotency-Key`.
    private let requestKey: Range<Int>

    /// - Parameter replacements: texts with their replacements. The first occurrence of each text is replaced.
    init(_ request: [UInt8], value text: String, replacing replacements: [(String, String)]) throws {
        var bytes = request
        for (old, new) in replacements {
            guard let end = bytes[...].end(of: Array(old.utf8)) else {
                throw CostFailure("the recorded request does not contain \(old)")
            }
            bytes.replaceSubrange((end - old.utf8.count)..<end, with: new.utf8)
        }
        guard let end = bytes[...].end(of: Array(text.utf8)),
            let start = bytes[...].end(of: Array("idempotency-key: ".utf8), ignoringCase: true),
            let length = bytes[start...].firstIndex(of: UInt8(ascii: "\r")).map({ $0 - start })
        else { throw CostFailure("the recorded request has no value or no Idempotency-Key") }
        self.bytes = bytes
        value = (end - text.utf8.count)..<end
        requestKey = start..<(start + length)
    }

    /// Returns a request with another value of the same length, and with a random `Idempotency-Key`.
    func request(value newValue: Int) throws -> [UInt8] {
        let digits = Array("\(newValue)".utf8)
        guard digits.count == value.count else {
            throw CostFailure("\(newValue) must have \(value.count) digits, like the recorded value")
        }
        var request = bytes
        request.replaceSubrange(value, with: digits)
        var number = UInt64.random(in: 0 ... .max)
        for position in requestKey {
            // The lowest digit of the number in base 26 becomes a letter. Dividing by 26 alone would reduce the number
            // to 0 after 14 letters, so the digit is added again at bit 32.
            let letter = UInt8(number % 26)
            request[position] = UInt8(ascii: "a") + letter
            number = number / 26 + UInt64(letter) << 32
        }
        return request
    }
}
