import Platform
import SettingsHTTP
import Synchronization

/// The command `wait`.
enum WaitCommand {
    static let wait = Command(
        name: "wait", forms: [[.suite, Command.Operand("KEY=VALUE", .oneOrMore)]],
        summary: "Wait until settings have the given values.",
        details: """
            KEY alone waits for any value, !KEY for no value, and KEY!=VALUE for another value or no value. The key ends at the
            first = or !=; write ["KEY"] for a key that contains =. The exit code is 8 if the time of --timeout is over.
            """,
        options: [
            Command.Option("timeout", "TIME", "end after this time: seconds, or a span such as 2m (default: no limit)")
        ],
        examples: ["settings wait app ready=true --timeout 60", "settings wait app leader"]
    ) { arguments in
        let suite = try arguments.suite()
        let conditions = try arguments.operands.dropFirst().map { try AwaitedValue($0) }
        let timeout = try arguments.duration("timeout")
        let wait = Wait(suite: suite, conditions: conditions, timeout: timeout)
        // The first timeout limits the reading of the token. The second timeout limits each request.
        let client = try arguments.client(timeout: wait.firstDeadline - .now).withTimeout(.seconds(10))
        return try await withThrowingTaskGroup(of: ExitCode.self) { group in
            group.addTask { try await wait.run(client) }
            if let timeout { group.addTask { try await wait.end(after: timeout) } }
            defer { group.cancelAll() }
            return try await group.next() ?? .failed
        }
    }

    /// A condition of the command line on the value of a key.
    private struct AwaitedValue: Sendable {
        /// The condition as the command line has it, such as `ready=true`.
        let text: String
        let key: KeyName
        /// Nil for any value.
        let word: String?
        /// True if the setting must not have the value.
        let isNegated: Bool

        init(_ text: String) throws(ToolError) {
            let awaitsNoValue = text.hasPrefix("!")
            let (path, rest) = try SettingPath.split(
                awaitsNoValue ? String(text.dropFirst()) : text, before: ["!=", "="])
            guard !awaitsNoValue || rest.isEmpty else {
                throw .usage(
                    "'\(Terminal.escaped(text))' has two conditions; write KEY!=VALUE, or !KEY for no value")
            }
            self.text = text
            key = try .whole(path, path.description)
            isNegated = awaitsNoValue || rest.hasPrefix("!")
            word = rest.isEmpty ? nil : String(rest.drop { $0 == "!" }.dropFirst())
        }

        func holds(_ value: JSONValue?) -> Bool { matches(value) != isNegated }

        /// True if the value equals the word, as a text or as JSON. Without a word, true for any value.
        private func matches(_ value: JSONValue?) -> Bool {
            guard let value else { return false }
            guard let word else { return true }
            if value.string == word { return true }
            return (try? JSONValue(parsing: word)) == value
        }
    }

    /// A wait for conditions of a suite, with one deadline for all its requests.
    private final class Wait: Sendable {
        private let suite: SuiteName
        private let conditions: [AwaitedValue]
        private let timeout: Duration?
        private let start = ContinuousClock.now
        /// True after the conditions were compared with the state of the suite, or after a request got no answer.
        private let hasTried = Mutex(false)

        init(suite: SuiteName, conditions: [AwaitedValue], timeout: Duration?) {
            (self.suite, self.conditions, self.timeout) = (suite, conditions, timeout)
        }

        /// The deadline of the first comparison. The daemon has at least a second to answer, so that `--timeout 0`
        /// tests the conditions once.
        var firstDeadline: ContinuousClock.Instant {
            start + max(.seconds(1), min(timeout ?? .seconds(10), .seconds(10)))
        }

        /// Waits for the end of the timeout, then throws.
        func end(after timeout: Duration) async throws -> ExitCode {
            try await Task.sleep(until: start + timeout, clock: .continuous)
            if !hasTried.withLock({ $0 }) { try await Task.sleep(until: firstDeadline, clock: .continuous) }
            throw timeoutError(timeout)
        }

        private func timeoutError(_ timeout: Duration) -> ToolError {
            let conditions = conditions.map { Terminal.escaped($0.text) }.joined(separator: " ")
            return ToolError(.timedOut, "timed out after \(timeout) waiting for \(suite) \(conditions)")
        }

        /// Waits until all conditions hold.
        func run(_ client: DaemonClient) async throws -> ExitCode {
            if try await areMetByFirstReads(client) { return .done }
            var values: [KeyName: JSONValue] = [:]
            for try await observation in client.changes(of: suite, keys: conditions.map(\.key)).withOutageWarnings {
                switch observation {
                case .state(let state):
                    values = [:]
                    for entry in state.suites.flatMap(\.values) { values[entry.key] = entry.value }
                case .changes(let observed):
                    for change in observed.changes { values[change.key] = change.new }
                }
                if areMet(by: values) { return .done }
                try checkTime()
            }
            return .failed
        }

        /// Throws if the time is over. Call this method after a comparison that found a condition that does not hold,
        /// and after a read without an answer.
        private func checkTime() throws(ToolError) {
            hasTried.withLock { $0 = true }
            if let timeout, ContinuousClock.now >= start + timeout { throw timeoutError(timeout) }
        }

        /// Reads each setting once, so that a missing right is an error. Returns true if the reads show that all
        /// conditions hold.
        ///
        /// Settings may change between two reads, so the values of several reads may belong to different states.
        /// Therefore, with several conditions, the result is true only if the suite does not exist and no condition
        /// needs a value.
        private func areMetByFirstReads(_ client: DaemonClient) async throws -> Bool {
            var values: [KeyName: JSONValue]?
            for key in conditions.map(\.key) {
                values = nil
                do {
                    let setting = try await client.send(.setting(key, in: suite))
                    guard !setting.isConcealed else {
                        throw ToolError(concealed: key, in: suite)
                    }
                    if conditions.count == 1 { values = setting.value.map { [key: $0] } ?? [:] }
                } catch let error as SettingsError where error.code != .forbidden && error.code != .unauthorized {
                    // If the daemon does not answer, each further read would wait for its timeout, too.
                    guard error.problem != nil else {
                        try checkTime()
                        return false
                    }
                    let isUnset = error.code == .notSet && conditions.count == 1
                    if isUnset || error.code == .unknownSuite { values = [:] }
                }
            }
            guard let values else { return false }
            if areMet(by: values) { return true }
            try checkTime()
            return false
        }

        private func areMet(by values: [KeyName: JSONValue]) -> Bool {
            conditions.allSatisfy { $0.holds(values[$0.key]) }
        }
    }
}
