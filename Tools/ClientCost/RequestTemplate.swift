/// A request that was sent once, to be sent again with another value under another name.
struct RequestTemplate {
    private let bytes: [UInt8]
    private let value: Range<Int>
    private let name: Range<Int>

    /// - Parameter ports: where it was sent, and where it will be.
    init(_ request: [UInt8], value text: String, ports: (from: UInt16, to: UInt16)) throws {
        let texts = ("127.0.0.1:\(ports.from)\r\n", "127.0.0.1:\(ports.to)\r\n")
        guard let host = request[...].end(of: Array(texts.0.utf8)) else { throw CostFailure("a request has no Host") }
        bytes = request[..<(host - texts.0.utf8.count)] + Array(texts.1.utf8) + request[host...]
        guard let end = bytes[...].end(of: Array(text.utf8)),
            let start = bytes[...].end(of: Array("idempotency-key: ".utf8), ignoringCase: true),
            let length = bytes[start...].firstIndex(of: UInt8(ascii: "\r")).map({ $0 - start })
        else { throw CostFailure("a write has no value or no name") }
        value = (end - text.utf8.count)..<end
        name = start..<(start + length)
    }

    /// The request with another value of the same length, and with a name that no other has.
    func request(value text: Int) throws -> [UInt8] {
        let digits = Array("\(text)".utf8)
        guard digits.count == value.count else { throw CostFailure("\(text) does not fit") }
        var request = bytes
        request.replaceSubrange(value, with: digits)
        for position in name { request[position] = UInt8.random(in: UInt8(ascii: "a")...UInt8(ascii: "z")) }
        return request
    }
}
