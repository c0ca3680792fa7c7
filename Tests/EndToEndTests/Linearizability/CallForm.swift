import SettingsAPI
import SettingsModel

/// How calls travel: as requests of HTTP, and back from the answers.
struct CallForm {
    let settings: TestedSettings

    /// The request.
    ///
    /// - Parameter requestKey: what it is named by, to be repeated if the answer is lost.
    func bytes(_ request: Call.Request, requestKey: String? = nil) -> [UInt8] {
        switch request {
        case .read(let read):
            let path = read.count == 1 ? settings.path(of: read[0]) : "/v1/suites/\(settings.suite(of: read[0]))"
            return message("GET", path, [:], nil)
        case .write(let conditions, let steps):
            var fields = requestKey.map { ["Idempotency-Key": $0] } ?? [:]
            if let single = single(conditions, steps) {
                if let guarding = single.field { fields[guarding.name] = guarding.value }
                return message(single.method, settings.path(of: steps[0].setting), fields, single.body)
            }
            let body: JSONValue = [
                "if": .array(conditions.map(json)), "do": .array(steps.map(json)),
            ]
            return message("POST", "/v1/transaction", fields, body)
        }
    }

    private func message(_ method: String, _ path: String, _ fields: [String: String], _ body: JSONValue?) -> [UInt8] {
        let body = body?.jsonBytes()
        var head = "\(method) \(path) HTTP/1.1\r\nHost: localhost\r\n"
        for (name, value) in fields { head += "\(name): \(value)\r\n" }
        if let body { head += "Content-Length: \(body.count)\r\n" }
        return Array((head + "\r\n").utf8) + (body ?? [])
    }

    private struct Single {
        let method: String
        let body: JSONValue?
        let field: (name: String, value: String)?
    }

    /// The write as a request to one setting, if it can be said so.
    private func single(_ conditions: [Call.Condition], _ steps: [Call.Step]) -> Single? {
        guard steps.count == 1, conditions.count <= 1, conditions.allSatisfy({ $0.setting == steps[0].setting }) else {
            return nil
        }
        let field: (name: String, value: String)?
        switch conditions.first {
        case nil: field = nil
        case .isAt(_, let revision)?: field = ("If-Match", "\"\(revision)\"")
        case .isStored(_, true)?: field = ("If-Match", "*")
        case .isStored(_, false)?: field = ("If-None-Match", "*")
        case .hasValue?: return nil
        }
        switch steps[0].action {
        case .set(let value): return Single(method: "PUT", body: .integer(value), field: field)
        case .add(let amount):
            return Single(method: "PATCH", body: ["op": "add", "by": .integer(amount)], field: field)
        case .remove: return Single(method: "DELETE", body: nil, field: field)
        }
    }

    private func json(_ condition: Call.Condition) -> JSONValue {
        var json = place(condition.setting)
        switch condition {
        case .isAt(_, let revision): json["revision"] = .integer(revision)
        case .isStored(_, let isStored): json["stored"] = .bool(isStored)
        case .hasValue(_, let value): json["value"] = .integer(value)
        }
        return .object(json)
    }

    private func json(_ step: Call.Step) -> JSONValue {
        var json = place(step.setting)
        switch step.action {
        case .set(let value):
            json["op"] = "set"
            json["value"] = .integer(value)
        case .add(let amount):
            json["op"] = "add"
            json["by"] = .integer(amount)
        case .remove: json["op"] = "delete"
        }
        return .object(json)
    }

    private func place(_ setting: Int) -> JSONObject {
        ["suite": .string(settings.suite(of: setting)), "key": .string(settings.key(of: setting))]
    }
}
