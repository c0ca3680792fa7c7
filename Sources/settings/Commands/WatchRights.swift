import SettingsHTTP

extension DaemonClient {
    /// Throws if the caller may not read one of the keys, or may read no key that begins with one of the prefixes. If
    /// the selection has all suites, throws if the caller may read no suite. The daemon hides keys and suites that the
    /// caller may not read, so the command would wait forever. Returns false if the daemon does not answer.
    func checkRights(to selection: SelectedSuites, _ prefixes: [String]) async throws -> Bool {
        do {
            for suite in selection.names ?? [] {
                for key in selection.keys { try await checkRight(to: key, in: suite) }
            }
            guard selection.names == nil || !prefixes.isEmpty else { return true }
            let caller = try await send(.caller)
            guard selection.names != nil || !caller.readablePatterns.isEmpty else {
                throw ToolError(.unauthorized, "cannot watch the suites: this caller may not read any suite")
            }
            for prefix in prefixes {
                guard let suites = selection.names else {
                    try caller.requireRight(toKeysBeginningWith: prefix, in: nil)
                    continue
                }
                for suite in suites { try caller.requireRight(toKeysBeginningWith: prefix, in: suite) }
            }
            return true
        } catch let error as SettingsError {
            guard error.problem == nil else { throw error }
            return false
        }
    }

    /// Throws if the caller may not read a key, or if the daemon does not answer. Other errors, for example because the
    /// setting has no value, do not matter for a watch.
    private func checkRight(to key: KeyName, in suite: SuiteName) async throws(SettingsError) {
        do {
            try await send(.setting(key, in: suite))
        } catch {
            let isRefused = error.code == .forbidden || error.code == .unauthorized
            if isRefused || error.problem == nil { throw error }
        }
    }
}

extension CallerState {
    /// Throws if the caller may read no key that begins with a prefix.
    ///
    /// - Parameter suite: the suite of the keys; nil for any suite.
    fileprivate func requireRight(toKeysBeginningWith prefix: String, in suite: SuiteName?) throws(ToolError) {
        let isAllowed = readablePatterns.contains { pattern in
            let parts = pattern.split(separator: "/", maxSplits: 1)
            let (suites, keys) = (parts[0].utf8, (parts.count > 1 ? parts[1] : "*").utf8)
            return (suite.map { Self.matches(suites, $0.text.utf8) } ?? true)
                && (keys.starts(with: prefix.utf8) || Self.matches(keys, prefix.utf8))
        }
        guard !isAllowed else { return }
        throw ToolError(
            .unauthorized,
            "this caller may not read keys of \(suite?.text ?? "any suite") that begin with '\(Terminal.escaped(prefix))'; "
                + "this requires a grant such as \(suite?.text ?? "*")/\(Terminal.escaped(prefix))*:read")
    }

    /// True if a name matches a pattern of a grant. A `*` at the end of the pattern stands for any characters.
    private static func matches(_ pattern: Substring.UTF8View, _ name: String.UTF8View) -> Bool {
        guard pattern.last == UInt8(ascii: "*") else { return pattern.elementsEqual(name) }
        return name.starts(with: pattern.dropLast())
    }
}
