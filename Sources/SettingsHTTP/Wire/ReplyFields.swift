extension WireReply.Field {
    /// Reads one line of a head.
    init(line: Span<UInt8>) throws(MalformedReply) {
        var colon = 0
        while colon < line.count, line[colon] != UInt8(ascii: ":") {
            guard Self.isOfToken(line[colon]) else { throw MalformedReply("a field has no name, or a bad one") }
            colon += 1
        }
        guard colon > 0, colon < line.count else { throw MalformedReply("a line of the head is no field") }
        var (lower, upper) = (colon + 1, line.count)
        while lower < upper, Self.isBlank(line[lower]) { lower += 1 }
        while upper > lower, Self.isBlank(line[upper - 1]) { upper -= 1 }
        for index in lower..<upper where line[index] < 0x20 && !Self.isBlank(line[index]) || line[index] == 0x7F {
            throw MalformedReply("the value of a field has a control character")
        }
        name = Self.lowercased(line.extracting(0..<colon))
        value = Self.text(line.extracting(lower..<upper))
    }

    private static func isBlank(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t")
    }

    /// Whether names of fields may have this byte: RFC 9110 calls them tokens.
    private static func isOfToken(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        case UInt8(ascii: "!"), UInt8(ascii: "#")...UInt8(ascii: "'"), UInt8(ascii: "*"), UInt8(ascii: "+"),
            UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "^"), UInt8(ascii: "_"), UInt8(ascii: "`"),
            UInt8(ascii: "|"), UInt8(ascii: "~"):
            true
        default: false
        }
    }

    /// The text of bytes of a token, in small letters.
    private static func lowercased(_ bytes: Span<UInt8>) -> String {
        String(unsafeUninitializedCapacity: bytes.count) { room in
            for index in 0..<bytes.count {
                let isCapital = (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(bytes[index])
                room[index] = isCapital ? bytes[index] | 0x20 : bytes[index]
            }
            return bytes.count
        }
    }

    private static func text(_ bytes: Span<UInt8>) -> String {
        bytes.withUnsafeBufferPointer { String(decoding: $0, as: UTF8.self) }
    }
}

/// What the fields of an answer say of where its body ends.
struct ReplyFraming {
    private(set) var length: Int?
    private(set) var isChunked = false
    private(set) var closes = false

    init(_ fields: [WireReply.Field]) throws(MalformedReply) {
        for field in fields {
            switch field.name {
            case "content-length":
                let digits = field.value.utf8
                // Eighteen digits fit into an Int whatever they are.
                guard (1...18).contains(digits.count),
                    digits.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }),
                    let number = Int(field.value), length ?? number == number
                else { throw MalformedReply("Content-Length is no number, or stands there twice") }
                length = number
            case "transfer-encoding":
                guard !isChunked, field.value.lowercased() == "chunked" else {
                    throw MalformedReply("Transfer-Encoding is not chunked")
                }
                isChunked = true
            case "connection":
                let words = field.value.lowercased().split { $0 == "," || $0 == " " || $0 == "\t" }
                if words.contains("close") { closes = true }
            default: break
            }
        }
        // Which of the two holds, different readers answer differently.
        guard !isChunked || length == nil else {
            throw MalformedReply("the answer has a Content-Length and a Transfer-Encoding")
        }
    }
}

extension [UInt8] {
    /// Adds all bytes of a span at once.
    mutating func append(copying bytes: Span<UInt8>) {
        bytes.withUnsafeBufferPointer { append(contentsOf: $0) }
    }
}
