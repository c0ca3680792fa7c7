/// Whether the answers that clients got can be explained by a daemon that does one thing at a time.
struct HistoryCheck {
    /// What is wrong; empty if the history is linearizable.
    let violations: [String]

    /// - Parameters:
    ///   - history: all calls; those of one connection in the order in which they were sent.
    ///   - initial: what was there before the first of them.
    ///   - isPipelined: whether calls of one connection overlap, and must take effect in order all the same.
    init(_ history: [Call], from initial: Model, isPipelined: Bool = false) {
        var violations = RevisionOrder(history, from: initial).violations()
        // With an order beyond that of real time, parts that are in order by themselves need not be so together.
        let groups = isPipelined ? [history] : Self.groups(of: history, count: initial.standings.count)
        for group in groups {
            switch LinearizationSearch(group, from: initial, isOrdered: isPipelined).run() {
            case .linearizable: continue
            case .impossible(let reason): violations.append("not linearizable: \(reason)")
            case .undecided(let reason): violations.append("too many orders to try: \(reason)")
            }
        }
        self.violations = violations
    }

    /// The violations as a message, or as many of them as one reads.
    var summary: String {
        violations.prefix(5).joined(separator: "\n")
            + (violations.count > 5 ? "\n… and \(violations.count - 5) more" : "")
    }

    /// Calls about settings that no call connects: each group can be looked at by itself.
    static func groups(of history: [Call], count: Int) -> [[Call]] {
        var leaders = Array(0..<count)
        func leader(_ setting: Int) -> Int {
            var setting = setting
            while leaders[setting] != setting { setting = leaders[setting] }
            return setting
        }
        for call in history {
            guard let first = call.settings.first else { continue }
            for other in call.settings.dropFirst() { leaders[leader(other)] = leader(first) }
        }
        let groups = Dictionary(grouping: history.filter { !$0.settings.isEmpty }) { leader($0.settings[0]) }
        return groups.sorted { $0.key < $1.key }.map(\.value)
    }
}
