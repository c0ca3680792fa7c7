import SettingsModel

/// Compares the schema compiler and the validator with the groups of a test suite, and counts the results. A group is a
/// schema with tests.
struct ConformanceTally {
    /// The error for a file that does not contain an array of groups with a description, a schema and tests.
    struct NotATestFile: Error, CustomStringConvertible {
        let description: String
    }

    /// The number of tests with the expected result.
    private var agreeingTests = 0
    /// The number of compared groups.
    private var groups = 0
    private var compiledGroups = 0
    /// The groups whose schemas have a feature of JSON Schema that the compiler does not support, such as a keyword.
    private var unsupported: [String] = []
    /// The groups whose schemas have a default that the schema itself does not allow. The compiler of settingsd refuses
    /// such a schema, but JSON Schema permits it.
    private var invalidDefaults: [String] = []
    private var failures: [String] = []

    /// Compares every group of a file.
    mutating func add(_ file: String, _ content: JSONValue) throws(NotATestFile) {
        for group in content.array ?? [] {
            guard let name = group["description"]?.string, let schema = group["schema"],
                let tests = group["tests"]?.array
            else { throw NotATestFile(description: "a group without description, schema or tests") }
            groups += 1
            do {
                let schema = try KeySchema(schema)
                compiledGroups += 1
                runTests("\(file): \(name)", schema, tests)
            } catch {
                addRefusal("\(file): \(name)", error)
            }
        }
        if content.array == nil { throw NotATestFile(description: "not an array of groups") }
    }

    /// Counts a file that could not be read as a failure.
    mutating func addUnreadableFile(_ reason: String) {
        failures.append(reason)
    }

    /// True if there is at least one group, and each group has the expected results or an expected refusal.
    var isConforming: Bool {
        failures.isEmpty && groups > 0
    }

    /// A text with the refused groups, the failures and the counts.
    var report: String {
        var lines: [String] = []
        lines += section("Refused, because the schema has features that settingsd does not support", unsupported)
        lines += section("Refused, because the schema does not allow its own default", invalidDefaults)
        lines += section("FAILED", failures)
        lines.append(
            "\(groups) groups: \(compiledGroups) compiled, \(agreeingTests) tests agree; "
                + "\(groups - compiledGroups) refused; "
                + "\(failures.count) failures")
        return lines.joined(separator: "\n")
    }

    private func section(_ title: String, _ entries: [String]) -> [String] {
        entries.isEmpty ? [] : ["\(title):"] + entries.map { "  \($0)" } + [""]
    }

    /// Runs the tests of a group.
    private mutating func runTests(_ name: String, _ schema: KeySchema, _ tests: [JSONValue]) {
        for test in tests {
            guard let data = test["data"], let expected = test["valid"]?.bool else {
                failures.append("\(name): a test without data or valid")
                continue
            }
            // `violations` lists the violations, and `allows` only decides whether the value is valid. Both are tested.
            let violations = schema.violations(of: data)
            if violations.isEmpty == expected, schema.allows(data) == expected {
                agreeingTests += 1
            } else {
                let found = violations.first?.sentence ?? "valid"
                failures.append("\(name): \(test["description"] ?? "") expected valid: \(expected), found: \(found)")
            }
        }
    }

    /// Counts a refused group as expected or as a failure.
    private mutating func addRefusal(_ name: String, _ error: SchemaError) {
        if error.problems.contains(where: \.isUnsupported) {
            unsupported.append("\(name): \(error.problems.map(\.detail).joined(separator: "; "))")
        } else if error.problems.allSatisfy({ $0.keyword == "default" }) {
            invalidDefaults.append("\(name): \(error.problems.map(\.detail).joined(separator: "; "))")
        } else {
            failures.append("\(name): \(error)")
        }
    }
}
