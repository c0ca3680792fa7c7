import SettingsModel

/// A tally that counts how the groups of a test suite were judged.
struct ConformanceTally {
    /// An error about a file that is not a file of groups.
    struct NotATestFile: Error, CustomStringConvertible {
        let description: String
    }

    private var agreeing = 0
    private var groups = 0
    private var refused: [String] = []
    private var stricter: [String] = []
    private var failures: [String] = []

    /// Judges every group of a file.
    mutating func add(_ file: String, _ content: JSONValue) throws(NotATestFile) {
        for group in content.array ?? [] {
            guard let name = group["description"]?.string, let schema = group["schema"],
                let tests = group["tests"]?.array
            else { throw NotATestFile(description: "a group without description, schema or tests") }
            groups += 1
            do {
                judge("\(file): \(name)", try KeySchema(schema), tests)
            } catch {
                judgeRefusal("\(file): \(name)", error)
            }
        }
        if content.array == nil { throw NotATestFile(description: "not an array of groups") }
    }

    /// Adds a file that could not be read.
    mutating func unreadable(_ reason: String) {
        failures.append(reason)
    }

    /// True if there was a group, and each agreed or was refused for a reason that the suite allows.
    var isSound: Bool {
        failures.isEmpty && groups > 0
    }

    /// The result for people.
    var report: String {
        var lines: [String] = []
        lines += section("Refused, as they use what schemas for settings do not have", refused)
        lines += section("Refused, as a default does not fit its own schema", stricter)
        lines += section("FAILED", failures)
        lines.append(
            "\(groups) groups: \(groups - refused.count - stricter.count) compiled, \(agreeing) tests agree; "
                + "\(refused.count + stricter.count) refused; \(failures.count) failures")
        return lines.joined(separator: "\n")
    }

    private func section(_ title: String, _ entries: [String]) -> [String] {
        entries.isEmpty ? [] : ["\(title):"] + entries.map { "  \($0)" } + [""]
    }

    private mutating func judge(_ name: String, _ schema: KeySchema, _ tests: [JSONValue]) {
        for test in tests {
            guard let data = test["data"], let expected = test["valid"]?.bool else {
                failures.append("\(name): a test without data or valid")
                continue
            }
            let violations = schema.violations(of: data)
            if violations.isEmpty == expected, schema.allows(data) == expected {
                agreeing += 1
            } else {
                let found = violations.first?.sentence ?? "valid"
                failures.append("\(name): \(test["description"] ?? "") should be \(expected), but: \(found)")
            }
        }
    }

    private mutating func judgeRefusal(_ name: String, _ error: SchemaError) {
        if error.problems.contains(where: \.isUnsupported) {
            refused.append("\(name): \(error.problems.map(\.detail).joined(separator: "; "))")
        } else if error.problems.allSatisfy({ $0.keyword == "default" }) {
            stricter.append("\(name): \(error.problems.map(\.detail).joined(separator: "; "))")
        } else {
            failures.append("\(name): \(error)")
        }
    }
}
