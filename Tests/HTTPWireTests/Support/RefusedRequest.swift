import HTTPWire
import Testing

/// Bytes that must not be taken as a request, and what is said of them.
struct RefusedRequest: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let bytes: [UInt8]
    let status: Int
    /// A part of the reason that no other kind of mistake has.
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

    /// Expects the error, however the bytes are divided, and that the parser stays with it.
    func check() throws {
        let error = try #require(ParseOutcome.however(divided: bytes, limits: limits)?.error)
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
    /// Goes on with all of the bytes, or with their beginning: what can stand inside an expectation.
    mutating func parse(_ bytes: [UInt8], to end: Int? = nil) throws(MessageError) -> Bool {
        try parse(bytes.span.extracting(0..<(end ?? bytes.count)))
    }

    /// The error that all of the bytes give; nil if there is none.
    mutating func failure(of bytes: [UInt8]) -> MessageError? {
        do throws(MessageError) {
            _ = try parse(bytes)
            return nil
        } catch {
            return error
        }
    }
}
