import HTTPWire
import TestSupport
import Testing

/// Tests that the outcome of parsing any bytes does not depend on their division into pieces, and that an accepted
/// request is the same after it is written and parsed again. `FuzzBudget` has a generator with a new seed for each
/// round.
struct RequestFuzzTests {
    private static let limits = MessageLimits(
        maximumTargetLength: 40, maximumHeadLength: 300, maximumFieldCount: 8, maximumBodyLength: 200)

    private static let sampleRequests = [
        "GET /v1/suites/app/keys/launchCount HTTP/1.1\r\nHost: 127.0.0.1:7070\r\nAccept: */*\r\n\r\n",
        "PUT /a?b=c HTTP/1.1\r\nHost: [::1]\r\nContent-Length: 11\r\nIf-Match: \"17\"\r\n\r\n{\"value\":1}",
        "POST /x HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\nExpect: 100-continue\r\n\r\n"
            + "5;a=b\r\nhello\r\n1\r\n!\r\n0\r\nX-T: y\r\n\r\n",
        "GET http://host:80/p?q HTTP/1.1\r\nHost: other\r\nConnection: a, close\r\n\r\n",
        "OPTIONS * HTTP/1.1\r\nhost: h\r\nOrigin: http://o\r\nAccess-Control-Request-Method: PUT\r\n\r\n",
        "HEAD /%C3%A9 HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
    ]

    private static let tokens = [
        "\r\n", "\r", "\n", " ", "\t", ":", ",", ";", "?", "#", "*", "/", "0", "5", "ffff", "-1", "\0", "\u{7F}", "é",
        "GET ", " HTTP/1.1\r\n", " HTTP/2.0\r\n", "Host: a\r\n", "Content-Length: 3\r\n",
        "Transfer-Encoding: chunked\r\n",
        "Connection: close\r\n", "Expect: 100-continue\r\n", "\r\n\r\n", "0\r\n\r\n", "1\r\nx\r\n", "http://", "%2F",
    ]

    @Test("Requests with changed, inserted and removed bytes are parsed or refused without a trap")
    func mutated() {
        for var generator in FuzzBudget.generators() {
            var bytes = Array(generator.pick(Self.sampleRequests).utf8)
            for _ in 0...generator.below(4) { Self.mutate(&bytes, &generator) }
            guard Self.satisfiesInvariants(bytes, &generator) else { return }
        }
    }

    @Test("Pieces of requests in random order are parsed or refused without a trap")
    func pieces() {
        for var generator in FuzzBudget.generators() {
            let text = (0..<generator.below(14)).map { _ in generator.pick(Self.tokens) }.joined()
            guard Self.satisfiesInvariants(Array(text.utf8), &generator),
                Self.satisfiesInvariants(Array("GET / HTTP/1.1\r\n\(text)".utf8), &generator),
                // The first 80 characters end after the line with the size of the first chunk (CR LF is one character).
                Self.satisfiesInvariants(Array((Self.sampleRequests[2].prefix(80) + text).utf8), &generator)
            else { return }
        }
    }

    @Test("Random bytes are parsed or refused without a trap")
    func random() {
        for var generator in FuzzBudget.generators(roundsFactor: 0.5) {
            let bytes = (0..<generator.below(64)).map { _ in UInt8(truncatingIfNeeded: generator.next()) }
            guard Self.satisfiesInvariants(bytes, &generator) else { return }
        }
    }

    private static func mutate(_ bytes: inout [UInt8], _ generator: inout SeededGenerator) {
        let position = generator.below(bytes.count + 1)
        switch generator.below(6) {
        case 0: bytes.insert(contentsOf: Array(generator.pick(tokens).utf8), at: position)
        case 1: bytes.removeSubrange(position..<min(bytes.count, position + 1 + generator.below(3)))
        case 2 where position < bytes.count: bytes[position] = UInt8(truncatingIfNeeded: generator.next())
        case 3 where position < bytes.count: bytes[position] ^= 1 << UInt8(generator.below(8))
        case 4:
            let end = min(bytes.count, position + generator.below(40))
            bytes.insert(contentsOf: bytes[position..<end], at: generator.below(bytes.count + 1))
        default: bytes.append(contentsOf: Array(generator.pick(sampleRequests).utf8))
        }
    }

    /// Checks the properties that hold for any bytes, and records the first violated property.
    private static func satisfiesInvariants(_ bytes: [UInt8], _ generator: inout SeededGenerator) -> Bool {
        let seed = generator.seed
        func recordViolation(_ invariant: String) -> Bool {
            Issue.record(
                "seed \(seed): violated: \(invariant): \(String(decoding: bytes, as: UTF8.self).debugDescription)")
            return false
        }
        let outcome = ParseOutcome(of: bytes, limits: limits)
        guard outcome == ParseOutcome(of: bytes, dividedAt: 0...bytes.count, limits: limits) else {
            return recordViolation("the outcome is the same byte by byte")
        }
        let cuts = (0..<3).map { _ in generator.below(bytes.count + 1) }.sorted()
        guard outcome == ParseOutcome(of: bytes, dividedAt: cuts, limits: limits) else {
            return recordViolation("the outcome is the same when divided at \(cuts)")
        }
        switch outcome {
        case .needsMore: return true
        case .refused(let error): return !error.reason.isEmpty || recordViolation("an error has a reason")
        case .request(let request):
            guard (1...bytes.count).contains(request.consumed) else {
                return recordViolation("the parser consumes at most the given bytes")
            }
            guard outcome == ParseOutcome(of: Array(bytes[..<request.consumed]), limits: limits) else {
                return recordViolation("the bytes after a request do not change the request")
            }
            guard var parsedAgain = ParseOutcome(of: request.serialized).request else {
                return recordViolation("the serialized request is accepted")
            }
            guard parsedAgain.consumed == request.serialized.count else {
                return recordViolation("the whole serialized request is consumed")
            }
            // `serialized` may write another field Connection than the request has.
            parsedAgain.consumed = request.consumed
            if !request.isHTTP11 || request.fields[.connection] == nil || !request.keepsAlive {
                parsedAgain.fields[.connection] = request.fields[.connection]
            }
            return parsedAgain == request || recordViolation("the serialized request has the same contents")
        }
    }
}
