import SettingsAPI
import SettingsHTTP

/// The suites that a command reads, and the keys in these suites.
struct SelectedSuites {
    /// Nil for all suites.
    let names: [SuiteName]?
    /// Empty for all keys.
    let keys: [KeyName]

    /// True if the command may print settings of more than one suite, so that each line must name its suite.
    var areSeveral: Bool { names?.count != 1 }
}

extension Command {
    /// Options of commands with the operands `[SUITE] [KEY…]`.
    static let suiteSelection = [
        Option("suite", "SUITE", "another suite", isRepeatable: true), Option("all", nil, "all suites"),
    ]
}

extension Arguments {
    /// The suites that the first operand, `--suite` and `--all` select, and the keys that the other operands name. A
    /// command with `--all` has no operands.
    func selectedSuites() throws(ToolError) -> SelectedSuites {
        if has("all") { return SelectedSuites(names: nil, keys: []) }
        let names = try SuiteName.named(operands.prefix(1) + all("suite"))
        return SelectedSuites(names: names, keys: try keys(from: 1))
    }
}

extension CallerState {
    /// The patterns of the suites, or of the keys in suites, that the caller may read: `app`, `app.*/player.*`, `*`.
    var readablePatterns: [Substring] {
        // A grant is a pattern and rights: `app.*:read,write`. Every right on suites includes the right to read.
        let rightsOnDaemon: Set<Substring> = ["metrics", "reload", "admin"]
        return grants.compactMap { grant in
            let parts = grant.split(separator: ":")
            guard parts.count == 2, !rightsOnDaemon.isSuperset(of: parts[1].split(separator: ",")) else { return nil }
            return parts[0]
        }
    }
}
