import SettingsModel
import TestSupport
import Testing

/// Holds requests against the description: what it does not allow is refused, and what it allows is not refused for its
/// form.
extension DescribedAnswers {
    /// Rules that OpenAPI has no words for, by what is said of them.
    private static let unsaid = [
        "leave out wait, or at", "say which suites to observe", "does not go with text/event-stream",
        "is still to come", "drop removes the whole suite",
    ]

    func checkRequest(_ request: Request, _ place: Place, _ answer: RawResponse, of name: String) {
        // What fields may hold is told in words only.
        let isPlain = request.fields.allSatisfy { $0.hasPrefix("Content-Type:") }
        guard isPlain, request.version == "HTTP/1.1", let wrong = wrongs(of: request, place) else { return }
        let told: Comment = "\(name): \(request.method) \(request.target): \(answer.status) \(answer.text.prefix(300))"
        if let reason = wrong.first {
            #expect(answer.status >= 400, "the description does not allow \(reason), the daemon does: \(told)")
        } else if answer.status == 400 {
            let isUnsaid = Self.unsaid.contains { answer.text.contains($0) }
            #expect(isUnsaid, "the description allows what the daemon does not: \(told)")
        }
    }

    /// What the description does not allow of a request; nil if the request is not even of the form that HTTP and JSON have.
    private func wrongs(of request: Request, _ place: Place) -> [String]? {
        var wrongs: [String] = []
        func parameter(_ name: String, in part: String) -> JSONValue? {
            place.parameters.first { $0["in"]?.string == part && $0["name"]?.string == name }
        }
        for (name, text) in place.names {
            guard let value = text.decoded else { return nil }
            if !allows(.string(value), parameter(name, in: "path")?["schema"]) { wrongs.append("the name \(value)") }
        }
        guard let query = request.target.queryParameters else { return nil }
        for (name, values) in query {
            guard let schema = parameter(name, in: "query")?["schema"] else {
                wrongs.append("the parameter \(name)")
                continue
            }
            let isList = schema["type"]?.string == "array"
            if values.count > 1, !isList { wrongs.append("\(name) twice") }
            for value in values where !allows(value, ofParameter: isList ? schema["items"] : schema) {
                wrongs.append("\(name)=\(value ?? "")")
            }
        }
        guard let content = place.operation["requestBody"]?["content"] else { return wrongs }
        guard let body = request.json else { return nil }
        let type = request.fields.first?.dropFirst("Content-Type:".count).filter { $0 != " " } ?? "application/json"
        let described = content[type.prefix { $0 != ";" }.lowercased()] ?? content["application/json"]
        if !allows(body, described?["schema"]) { wrongs.append("the body") }
        return wrongs
    }

    /// Whether a schema allows the value of a parameter, nil if the parameter is bare.
    private func allows(_ text: String?, ofParameter schema: JSONValue?) -> Bool {
        guard let text else { return schema?["type"]?.string == "boolean" }
        var readings: [JSONValue] = [.string(text)]
        if let number = Int64(text), text.allSatisfy(\.isNumber) { readings.append(.integer(number)) }
        if text == "true" || text == "false" { readings.append(.bool(text == "true")) }
        return readings.contains { allows($0, schema) }
    }

    private func allows(_ value: JSONValue, _ schema: JSONValue?) -> Bool {
        guard let schema else { return false }
        if let name = schema["$ref"]?.string?.split(separator: "/").last { return allows(value, as: String(name)) }
        if let alternatives = schema["anyOf"]?.array { return alternatives.contains { allows(value, $0) } }
        return (try? JSONSchema(schema).allows(value)) ?? false
    }
}

extension Request {
    fileprivate var json: JSONValue? { try? JSONValue(parsing: body, maximumDepth: JSONValue.maximumDepthAroundValues) }
}

extension String {
    /// The text without its percent-encoding; nil if it is malformed.
    fileprivate var decoded: String? {
        var bytes: [UInt8] = []
        var rest = utf8[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            guard let digits = String(rest.prefix(2)), digits.utf8.count == 2, let value = UInt8(digits, radix: 16)
            else {
                return nil
            }
            bytes.append(value)
            rest = rest.dropFirst(2)
        }
        return String(validating: bytes, as: UTF8.self)
    }

    /// The parameters of a target by name, a bare one with nil for its value; nil if the query is malformed.
    fileprivate var queryParameters: [(name: String, values: [String?])]? {
        var parameters: [(name: String, values: [String?])] = []
        var parts =
            split(separator: "?", maxSplits: 1).dropFirst().first?.split(
                separator: "&", omittingEmptySubsequences: false) ?? []
        if parts.last?.isEmpty == true { parts.removeLast() }
        for part in parts {
            let sides = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard let name = String(sides[0]).decoded, !name.isEmpty else { return nil }
            var value: String?
            if sides.count > 1 {
                guard let decoded = String(sides[1]).decoded else { return nil }
                value = decoded
            }
            if let index = parameters.firstIndex(where: { $0.name == name }) {
                parameters[index].values.append(value)
            } else {
                parameters.append((name, [value]))
            }
        }
        return parameters
    }
}
