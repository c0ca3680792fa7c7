/// Bytes to one answer, in whatever pieces they come. Strict: what is not plainly HTTP/1.1 is refused.
struct ReplyParser {
    enum Phase {
        case statusLine
        case fields
        /// So many bytes of the body are to come.
        case counted(Int)
        case chunkSize
        case chunk(Int)
        case chunkEnd
        case trailers
        /// Up to the end of the connection.
        case untilEnd
        case complete
    }

    private let limits: ReplyLimits
    private(set) var phase = Phase.statusLine
    var reply = WireReply(status: 0)
    /// What has come of a line.
    private var line: [UInt8] = []
    /// What the head, or what frames a body, may still have.
    private var allowance: Int
    private var interimCount = 0
    /// Whether anything has come.
    private(set) var hasBegun = false

    init(limits: ReplyLimits = ReplyLimits()) {
        self.limits = limits
        allowance = limits.head
    }

    var isComplete: Bool {
        if case .complete = phase { true } else { false }
    }

    /// Takes what has come, and returns how many of the bytes belong to this answer: fewer than given only once it is
    /// complete.
    mutating func take(_ bytes: Span<UInt8>) throws(MalformedReply) -> Int {
        if !bytes.isEmpty { hasBegun = true }
        var position = 0
        while position < bytes.count {
            switch phase {
            case .complete: return position
            case .statusLine, .fields, .chunkSize, .chunkEnd, .trailers:
                if try takeLine(bytes, &position) { try endLine() }
            case .counted(let rest):
                let left = try takeBody(bytes, &position, rest)
                phase = left == 0 ? .complete : .counted(left)
            case .chunk(let rest):
                let left = try takeBody(bytes, &position, rest)
                phase = left == 0 ? .chunkEnd : .chunk(left)
            case .untilEnd: _ = try takeBody(bytes, &position, .max)
            }
        }
        return position
    }

    /// The server has closed its side. Returns whether the answer is complete by that.
    mutating func end() -> Bool {
        if case .untilEnd = phase { phase = .complete }
        return isComplete
    }

    /// How many of the `wanted` bytes have not come.
    private mutating func takeBody(
        _ bytes: Span<UInt8>, _ position: inout Int, _ wanted: Int
    ) throws(MalformedReply) -> Int {
        let count = min(wanted, bytes.count - position)
        try checkBody(reply.body.count + count)
        reply.body.append(copying: bytes.extracting(position..<(position + count)))
        position += count
        return wanted - count
    }

    private func checkBody(_ length: Int) throws(MalformedReply) {
        guard length <= limits.body else { throw MalformedReply("the body has more than \(limits.body) bytes") }
    }

    /// Takes up to the end of a line; false if that has not come.
    private mutating func takeLine(_ bytes: Span<UInt8>, _ position: inout Int) throws(MalformedReply) -> Bool {
        var end = position
        var last = line.last
        while end < bytes.count, bytes[end] != UInt8(ascii: "\n") {
            guard last != UInt8(ascii: "\r") else {
                throw MalformedReply("a carriage return stands inside a line")
            }
            last = bytes[end]
            end += 1
        }
        let isWhole = end < bytes.count
        allowance -= end - position + (isWhole ? 1 : 0)
        guard allowance >= 0 else { throw MalformedReply("the head has more than \(limits.head) bytes") }
        line.append(copying: bytes.extracting(position..<end))
        position = end
        guard isWhole else { return false }
        guard last == UInt8(ascii: "\r") else { throw MalformedReply("a line ends without a carriage return") }
        line.removeLast()
        position += 1
        return true
    }

    private mutating func endLine() throws(MalformedReply) {
        defer { line.removeAll(keepingCapacity: true) }
        switch phase {
        case .statusLine:
            try readStatusLine()
            phase = .fields
        case .fields where line.isEmpty: try endHead()
        case .fields:
            guard reply.fields.count < limits.fields else { throw MalformedReply("more than \(limits.fields) fields") }
            reply.fields.append(try WireReply.Field(line: line.span))
        case .chunkSize:
            let size = try Self.chunkSize(line)
            phase = size == 0 ? .trailers : .chunk(size)
        case .chunkEnd:
            guard line.isEmpty else { throw MalformedReply("a chunk is longer than it says") }
            phase = .chunkSize
        case .trailers where line.isEmpty: phase = .complete
        // What trailers say is not asked for; their form has to be right nevertheless.
        case .trailers: _ = try WireReply.Field(line: line.span)
        default: break
        }
    }

    private mutating func readStatusLine() throws(MalformedReply) {
        func isDigit(_ index: Int) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(line[index]) }
        let space = UInt8(ascii: " ")
        guard line.starts(with: "HTTP/1.".utf8), line.count >= 12, isDigit(7), line[8] == space,
            (9...11).allSatisfy(isDigit), line.count == 12 || line[12] == space, line[9] > UInt8(ascii: "0")
        else { throw MalformedReply("the first line is no status line of HTTP/1.1") }
        reply = WireReply(status: line[9...11].reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) })
        // A server of HTTP/1.0 ends the connection with its answer.
        reply.keepsConnection = line[7] > UInt8(ascii: "0")
        reply.fields.reserveCapacity(8)
    }

    /// The head is there: what follows it?
    private mutating func endHead() throws(MalformedReply) {
        if (100..<200).contains(reply.status) {
            guard reply.status != 101 else { throw MalformedReply("the server changes to another protocol") }
            interimCount += 1
            guard interimCount <= limits.interim else {
                throw MalformedReply("more than \(limits.interim) answers before the real one")
            }
            phase = .statusLine
            return
        }
        let framing = try ReplyFraming(reply.fields)
        if framing.closes { reply.keepsConnection = false }
        allowance = limits.head
        if reply.status == 204 || reply.status == 304 {
            phase = .complete
        } else if framing.isChunked {
            phase = .chunkSize
        } else if let length = framing.length {
            try checkBody(length)
            // A length is a promise only: no more room is made ahead than a server may easily fill.
            reply.body.reserveCapacity(min(length, 1 << 20))
            phase = length == 0 ? .complete : .counted(length)
        } else {
            reply.keepsConnection = false
            phase = .untilEnd
        }
    }

    private static func chunkSize(_ line: [UInt8]) throws(MalformedReply) -> Int {
        let digits = line.prefix { $0 != UInt8(ascii: ";") && $0 != UInt8(ascii: " ") && $0 != UInt8(ascii: "\t") }
        let isHexadecimal = digits.allSatisfy { Unicode.Scalar($0).properties.isASCIIHexDigit }
        // Fifteen digits fit into an Int whatever they are.
        guard (1...15).contains(digits.count), isHexadecimal,
            let size = Int(String(decoding: digits, as: UTF8.self), radix: 16)
        else { throw MalformedReply("a chunk does not begin with its size") }
        return size
    }
}
