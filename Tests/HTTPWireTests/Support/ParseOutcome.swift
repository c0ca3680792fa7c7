import HTTPWire

/// What comes of parsing some bytes.
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

    /// Parses what comes in pieces that end at these counts, and then all of it.
    init(of bytes: [UInt8], dividedAt counts: some Sequence<Int> = [], limits: MessageLimits = MessageLimits()) {
        var parser = MessageParser(limits: limits)
        do throws(MessageError) {
            for count in counts {
                let piece = bytes.span.extracting(0..<count)
                if try parser.parse(piece) {
                    self = ParsedRequest(parser, piece).map(ParseOutcome.request) ?? .needsMore
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

    /// The outcome, if it is the same in one piece, byte by byte, and divided in two at every place; else nil.
    static func however(divided bytes: [UInt8], limits: MessageLimits = MessageLimits()) -> ParseOutcome? {
        let outcome = ParseOutcome(of: bytes, limits: limits)
        guard outcome == ParseOutcome(of: bytes, dividedAt: 0...bytes.count, limits: limits) else { return nil }
        for cut in bytes.indices where outcome != ParseOutcome(of: bytes, dividedAt: [cut], limits: limits) {
            return nil
        }
        return outcome
    }
}
