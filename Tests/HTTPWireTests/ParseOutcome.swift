import HTTPWire
import Testing

/// The result of parsing bytes.
enum ParseOutcome: Equatable, Sendable {
    case request(ParsedRequest)
    case refused(MessageError)
    case needsMore

    var request: ParsedRequest? {
        if case .request(let request) = self { request } else { nil }
    }

    var error: MessageError? {
        if case .refused(let error) = self { error } else { nil }
    }

    /// Parses prefixes of the bytes, whose lengths are the counts, and then all bytes. Ends when a request is complete.
    init(of bytes: [UInt8], dividedAt counts: some Sequence<Int> = [], limits: MessageLimits = MessageLimits()) {
        var parser = MessageParser(limits: limits)
        do throws(MessageError) {
            for count in counts {
                let received = bytes.span.extracting(0..<count)
                if try parser.parse(received) {
                    self = ParsedRequest(parser, received).map(ParseOutcome.request) ?? .needsMore
                    return
                }
            }
            _ = try parser.parse(bytes.span)
            self = ParsedRequest(parser, bytes.span).map(ParseOutcome.request) ?? .needsMore
        } catch {
            self = .refused(error)
        }
    }

    init(of text: String, limits: MessageLimits = MessageLimits()) {
        self.init(of: Array(text.utf8), limits: limits)
    }

    /// The outcome if it is the same for the complete bytes, for single bytes, and for every division into two pieces;
    /// otherwise nil.
    static func forEveryDivision(of bytes: [UInt8], limits: MessageLimits = MessageLimits()) -> ParseOutcome? {
        let outcome = ParseOutcome(of: bytes, limits: limits)
        guard outcome == ParseOutcome(of: bytes, dividedAt: 0...bytes.count, limits: limits) else { return nil }
        for cut in bytes.indices where outcome != ParseOutcome(of: bytes, dividedAt: [cut], limits: limits) {
            return nil
        }
        return outcome
    }
}

/// A copy of all data that a parser returns for a complete request.
struct ParsedRequest: Equatable, Sendable {
    var method: HTTPWire.Method
    var methodName: String
    var target: String
    var path: String
    var query: String?
    var hasAsteriskForm: Bool
    var host: String?
    var port: String?
    var isHTTP11: Bool
    var keepsAlive: Bool
    var expectsContinue: Bool
    var framing: RequestHead.Framing
    var fields: [FieldName: String]
    var body: [UInt8]
    var consumed: Int

    init?(_ parser: MessageParser, _ bytes: Span<UInt8>) {
        guard let head = parser.head, parser.isComplete else { return nil }
        method = head.method
        methodName = bytes.text(in: head.methodName)
        target = bytes.text(in: head.target)
        path = bytes.text(in: head.path)
        query = head.query.map { bytes.text(in: $0) }
        hasAsteriskForm = head.hasAsteriskForm
        host = head.host.map { bytes.text(in: $0) }
        port = head.port.map { bytes.text(in: $0) }
        isHTTP11 = head.isHTTP11
        keepsAlive = head.keepsAlive
        expectsContinue = head.expectsContinue
        framing = head.framing
        fields = [:]
        for name in FieldName.allCases {
            if let value = head.field(name) { fields[name] = bytes.text(in: value) }
        }
        body = parser.body.withBytes(of: bytes) { span in
            var copy: [UInt8] = []
            copy.append(copying: span)
            return copy
        }
        consumed = parser.consumed
    }

    /// The bytes of a request with the same data.
    var serialized: [UInt8] {
        var bytes: [UInt8] = Array("\(methodName) \(target) HTTP/1.\(isHTTP11 ? 1 : 0)\r\n".utf8)
        for name in FieldName.allCases {
            if let value = fields[name] { bytes += Array("\(name.text): \(value)\r\n".utf8) }
        }
        if keepsAlive != isHTTP11 { bytes += Array("connection: \(keepsAlive ? "keep-alive" : "close")\r\n".utf8) }
        bytes += Array("\r\n".utf8)
        switch framing {
        case .none: break
        case .length, .untilClose: bytes += body
        case .chunked:
            if !body.isEmpty {
                bytes += Array("\(String(body.count, radix: 16))\r\n".utf8) + body + Array("\r\n".utf8)
            }
            bytes += Array("0\r\n\r\n".utf8)
        }
        return bytes
    }
}

/// Bytes that the parser must refuse, and the expected error.
struct RefusedRequest: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let bytes: [UInt8]
    let status: Int
    /// A part of the reason that only this kind of error contains.
    let reason: String
    let limits: MessageLimits

    init(
        _ name: String, _ text: String, status: Int = 400, _ reason: String,
        limits: MessageLimits = MessageLimits()
    ) {
        self.init(name, bytes: Array(text.utf8), status: status, reason, limits: limits)
    }

    init(
        _ name: String, bytes: [UInt8], status: Int = 400, _ reason: String,
        limits: MessageLimits = MessageLimits()
    ) {
        testDescription = name
        self.bytes = bytes
        self.status = status
        self.reason = reason
        self.limits = limits
    }

    /// Expects the error for every division of the bytes, and again when the parser is called after the error.
    func check() throws {
        let error = try #require(ParseOutcome.forEveryDivision(of: bytes, limits: limits)?.error)
        #expect(error.status == status, "\(error)")
        #expect(error.reason.contains(reason), "\(error.reason)")
        var parser = MessageParser(limits: limits)
        for _ in 0..<2 {
            #expect(parser.failure(of: bytes) == error)
            #expect(!parser.isComplete)
            #expect(parser.consumed == 0)
        }
    }
}

extension MessageParser {
    /// Parses the bytes from their beginning to `end`. The macro `#expect` can call this method, but not the
    /// method that takes a span.
    mutating func parse(_ bytes: [UInt8], to end: Int? = nil) throws(MessageError) -> Bool {
        try parse(bytes.span.extracting(0..<(end ?? bytes.count)))
    }

    /// The error of parsing all bytes; nil if there is none.
    mutating func failure(of bytes: [UInt8]) -> MessageError? {
        do throws(MessageError) {
            _ = try parse(bytes)
            return nil
        } catch {
            return error
        }
    }
}
