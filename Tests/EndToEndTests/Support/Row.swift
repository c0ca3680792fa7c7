import Foundation
import SettingsAPI
import SettingsModel
import SettingsServer
import TestSupport
import Testing

/// A row of a table-driven test: requests that are sent first, the tested request, its expected answer, and requests
/// that check the result.
struct Row: Sendable, CustomTestStringConvertible {
    let name: String
    /// The requests that are sent first. Each must succeed.
    var given: [Request]
    var request: Request
    var status: Int
    /// The expected error; nil if the answer must not be an error.
    var code: ErrorCode?
    /// A pattern: the body must have its members, and may have others. `"*"` matches any value, `"*a*b*"` matches a
    /// text that contains `a` and then `b`, and `$n` is the revision of the daemon after the n-th request of the test,
    /// where `$0` is the revision before the first request.
    var body: String
    /// The exact text of the body, without the newline at the end of a JSON answer.
    var text: String?
    /// Members whose values must be equal to these values, without further members inside a value. The body may have
    /// other members.
    var exactly: String?
    /// Members that the body must not have.
    var lacks: [String]
    /// Fields that the answer must have, such as `ETag: "3"`. A field without a value must be absent.
    var fields: [String]
    /// Requests after the tested request, and patterns like `body` that their answers must match.
    var then: [(request: Request, body: String)]
    /// Changes the configuration of the daemon before its start.
    var configure: @Sendable (inout Configuration) -> Void

    init(
        _ name: String, given: [Request] = [], _ request: Request, _ status: Int, _ code: ErrorCode? = nil,
        body: String = "", text: String? = nil, exactly: String? = nil, lacks: [String] = [], fields: [String] = [],
        then: [(request: Request, body: String)] = [],
        configure: @escaping @Sendable (inout Configuration) -> Void = { _ in }
    ) {
        self.name = name
        self.given = given
        self.request = request
        self.status = status
        self.code = code
        self.body = body
        self.text = text
        self.exactly = exactly
        self.lacks = lacks
        self.fields = fields
        self.then = then
        self.configure = configure
    }

    /// The name, the request and the expected result: `A missing key: GET /v1/suites/app/keys/b returns 404 not_set`.
    var testDescription: String {
        let result = code.map { "\(status) \($0.rawValue)" } ?? "\(status)"
        return "\(name): \(request.method) \(request.target.prefix(80)) returns \(result)"
    }

    /// The row with additional requests before `given`.
    func after(_ requests: Request...) -> Row {
        var row = self
        row.given = requests + given
        return row
    }
}

extension Row {
    /// Sends the requests of the row to a new daemon and checks the answers.
    func check() throws {
        let daemon = try TestDaemon(configure)
        var revisions = [try daemon.send("GET /v1").revision?.description ?? ""]
        for request in given {
            let answer = try daemon.sendOK(request.replacingPlaceholders(with: revisions))
            revisions.append(answer.revision?.description ?? "")
        }
        let sent = request.replacingPlaceholders(with: revisions)
        // A write with an idempotency key that changes nothing is stored as a commit, which changes only the cursor.
        let hasRequestKey = sent.fields.contains { $0.hasPrefix("Idempotency-Key:") }
        let before = try daemon.readEverything(withCursor: !hasRequestKey)
        let answer = try daemon.send(sent)
        revisions.append(answer.revision?.description ?? "")
        try expect(answer, to: sent, revisions)
        let after = try daemon.readEverything(withCursor: !hasRequestKey)
        if answer.reportsChange {
            #expect(before != after, "\(name): the answer reports a change, but the stored data is the same")
        } else {
            #expect(before == after, "\(name): the answer reports no change, but the stored data has changed")
        }
        if sent.method == "GET", answer.status != 405 { try expectSameHead(of: answer, sent, daemon) }
        for (request, body) in then {
            let later = try daemon.send(request.replacingPlaceholders(with: revisions))
            let pattern = try JSONValue(parsing: body.replacingPlaceholders(with: revisions))
            #expect(pattern.isFound(in: later.json), "\(name), \(request.target): \(later.text)")
        }
    }

    private func expect(_ answer: RawResponse, to sent: Request, _ revisions: [String]) throws {
        let context: Comment = "\(name): \(answer.status) \(answer.text)"
        #expect(answer.status == status, context)
        #expect(answer.json?["code"]?.string == code?.rawValue || sent.method == "HEAD", context)
        if let code, answer.status >= 400, sent.method != "HEAD" { expectProblem(answer, code) }
        if !body.isEmpty {
            let pattern = try JSONValue(parsing: body.replacingPlaceholders(with: revisions))
            #expect(pattern.isFound(in: answer.json), context)
        }
        if let text {
            let found = isVerbatim(answer, to: sent) ? String(decoding: answer.body, as: UTF8.self) : answer.text
            #expect(found == text.replacingPlaceholders(with: revisions), context)
        }
        let exactMembers = try exactly.map { try JSONValue(parsing: $0.replacingPlaceholders(with: revisions)) }?.object
        for member in exactMembers ?? [:] {
            #expect(answer.json?[member.name] == member.value, context)
        }
        for member in lacks { #expect(answer.json?[member] == nil, context) }
        for field in fields {
            let parts = field.replacingPlaceholders(with: revisions).split(separator: ":", maxSplits: 1)
            let value = parts.count > 1 ? String(parts[1].drop { $0 == " " }) : ""
            #expect(answer.field(String(parts[0])) == (value.isEmpty ? nil : value), context)
        }
        expectCommonFields(answer)
        expectNewline(answer, to: sent)
        try OpenAPIDescription.check(answer, to: sent, of: name)
    }

    /// Checks the fields that every answer must have.
    private func expectCommonFields(_ answer: RawResponse) {
        let context: Comment = "\(name): \(answer.fields)"
        #expect(answer.revision != nil, context)
        #expect(answer.field("Cache-Control") == "no-cache", context)
        #expect(answer.field("X-Content-Type-Options") == "nosniff", context)
        #expect(answer.field("Date") != nil, context)
        #expect(answer.status < 400 || answer.type == "application/problem+json", context)
    }

    /// The daemon ends an answer of JSON with one newline, unless the answer is a bare value or the schema as it was
    /// sent.
    private func expectNewline(_ answer: RawResponse, to sent: Request) {
        guard answer.type.hasPrefix("application/"), !answer.body.isEmpty, !isVerbatim(answer, to: sent) else { return }
        #expect(answer.body.reversed().prefix { $0 == UInt8(ascii: "\n") }.count == 1, "\(name): \(answer.text)")
    }

    /// True if the answer is a bare value or the text of a schema.
    private func isVerbatim(_ answer: RawResponse, to sent: Request) -> Bool {
        let isRaw = sent.target.contains("raw") && !sent.target.contains("raw=false")
        return answer.status == 200 && sent.method == "GET" && (isRaw || sent.target.contains("/schema"))
    }

    /// Checks the members that every error must have.
    private func expectProblem(_ answer: RawResponse, _ code: ErrorCode) {
        let context: Comment = "\(name): \(answer.text)"
        #expect(answer.json?["type"] == "about:blank", context)
        #expect(answer.json?["status"]?.integer == Int64(answer.status), context)
        #expect(answer.json?["title"]?.string == code.title, context)
        let detail = answer.json?["detail"]?.string ?? ""
        #expect(!detail.isEmpty, context)
        #expect(code.statuses.contains(answer.status), context)
        switch code {
        case .invalidValue, .invalidSchema, .invalidOperation:
            let errors = answer.json?["errors"]?.array ?? []
            #expect(!errors.isEmpty, context)
        case .methodNotAllowed: #expect(answer.field("Allow") != nil, context)
        case .tooLarge: #expect(answer.json?["limit"]?.integer != nil, context)
        case .historyGone: #expect(answer.json?["oldest"]?.integer != nil, context)
        default: break
        }
    }

    /// Checks that HEAD returns the same status and fields as GET.
    private func expectSameHead(of answer: RawResponse, _ sent: Request, _ daemon: TestDaemon) throws {
        var request = sent
        request.method = "HEAD"
        let head = try daemon.send(request)
        #expect(head.status == answer.status, "\(name): HEAD")
        let isVolatile = sent.target.hasPrefix("/metrics")
        let ignored = isVolatile ? ["Date", "Content-Length"] : ["Date"]
        let compared = { (fields: [RawResponse.Field]) in fields.filter { !ignored.contains($0.name) } }
        #expect(compared(head.fields) == compared(answer.fields), "\(name): HEAD")
    }
}

extension JSONValue {
    /// True if a text contains all parts, in their order.
    private static func contains(_ text: String, _ parts: [Substring]) -> Bool {
        var rest = text[...]
        for part in parts {
            guard let range = rest.range(of: part) else { return false }
            rest = rest[range.upperBound...]
        }
        return true
    }

    /// True if a value matches this pattern. An object must have all members of the pattern, and may have other
    /// members. An array must have as many elements as the pattern. `"*"` matches any value, and `"*a*b*"` matches a
    /// text that contains `a` and then `b`.
    func isFound(in value: JSONValue?) -> Bool {
        switch (self, value) {
        case ("*", _?): true
        case (.string(let pattern), .string(let text)?) where pattern.hasPrefix("*") && pattern.hasSuffix("*"):
            Self.contains(text, pattern.split(separator: "*"))
        case (.object(let pattern), .object(let object)?):
            pattern.allSatisfy { $0.value.isFound(in: object[$0.name]) }
        case (.array(let pattern), .array(let elements)?):
            pattern.count == elements.count && zip(pattern, elements).allSatisfy { $0.isFound(in: $1) }
        default: self == value
        }
    }
}
