import SettingsAPI
import SettingsHTTP

/// The suites that a command is about, and the keys in these suites.
struct SelectedSuites {
    /// Nil for all suites.
    let names: [SuiteName]?
    /// Empty for all keys.
    let keys: [KeyName]

    /// True if the output must say which suite a line is about.
    var areSeveral: Bool { names?.count != 1 }
}

extension Command {
    /// Options of commands with the operands `[SUITE] [KEY…]`.
    static let suiteSelection = [
        Option("suite", "SUITE", "another suite", isRepeatable: true), Option("all", nil, "all suites"),
    ]
}

extension Arguments {
    /// The suites of the first operand, of `--suite` and of `--all`.
    func selectedSuites() throws(ToolError) -> SelectedSuites {
        if has("all") { return SelectedSuites(names: nil, keys: []) }
        let names = try SuiteName.named(operands.prefix(1) + all("suite"))
        return SelectedSuites(names: names, keys: try keys(from: 1))
    }
}

extension CallerState {
    /// The patterns of the suites, or of the keys in suites, that the caller may read: `app`, `app.*/player.*`, `*`.
    var readablePatterns: [Substring] {
        // Every other right includes the right to read.
        let others: Set<Substring> = ["metrics", "reload", "admin"]
        return grants.compactMap { grant in
            let parts = grant.split(separator: ":")
            guard parts.count == 2, !others.isSuperset(of: parts[1].split(separator: ",")) else { return nil }
            return parts[0]
        }
    }
}
