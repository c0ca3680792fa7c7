package import SettingsAPI
package import SettingsModel

/// A commit in memory, with its size and the suites (named sets of settings) that it affects: that it creates or drops,
/// or whose schema or keys it changes.
///
/// The history in memory, the table of request keys (by which the daemon recognises repeated requests), and the result
/// of the write refer to the same object.
package final class RetainedCommit: Sendable {
    package let commit: Commit
    /// The approximate number of bytes of memory that the commit takes.
    package let size: Int
    /// The first suite that the commit affects; nil if the commit affects no suite.
    package let firstSuite: SuiteName?
    /// The other suites that the commit affects. Nearly every commit affects one suite and therefore needs no array.
    private let otherSuites: [SuiteName]

    package convenience init(_ commit: Commit) {
        self.init(commit, size: commit.memorySize)
    }

    init(_ commit: Commit, size: Int) {
        var first: SuiteName?
        var previous: SuiteName?
        var others: [SuiteName] = []
        var seen: Set<SuiteName> = []
        func add(_ suite: SuiteName) {
            // Successive changes are usually in the same suite.
            guard suite != previous else { return }
            previous = suite
            if first == nil {
                first = suite
            } else if suite != first, seen.insert(suite).inserted {
                others.append(suite)
            }
        }
        let (suiteChanges, changes) = (commit.suiteChanges.span, commit.changes.span)
        for index in suiteChanges.indices { add(suiteChanges[index].suite) }
        for index in changes.indices { add(changes[index].suite) }
        firstSuite = first
        otherSuites = others
        self.size = size
        self.commit = commit
    }

    package var revision: Revision { commit.revision }

    func affects(_ suite: SuiteName) -> Bool { firstSuite == suite || otherSuites.contains(suite) }

    /// Calls the body once for each suite that the commit affects.
    package func forEachSuite(_ body: (SuiteName) -> Void) {
        if let firstSuite { body(firstSuite) }
        for suite in otherSuites { body(suite) }
    }
}

extension Commit {
    /// The approximate number of bytes of memory that the commit takes, often several times the length of its text in a
    /// file. The size includes values that the commit shares with other commits, because commits share no values after
    /// a restart.
    package var memorySize: Int {
        var memorySize = MemorySize.allocation + MemoryLayout<Commit>.stride
        memorySize +=
            MemorySize.array(of: Change.self, changes.count)
            + MemorySize.array(of: SuiteChange.self, suiteChanges.count)
        memorySize += (origin?.memorySize ?? 0) + MemorySize.text(requestKey?.text) + MemorySize.text(requestDigest)
        // A loop over the array, or a call of a method of a change, would copy each change. Access through a span
        // copies nothing.
        let changes = changes.span
        for index in changes.indices {
            memorySize += MemorySize.text(changes[index].suite.text) + MemorySize.text(changes[index].key.text)
            memorySize += (changes[index].old?.memorySize ?? 0) + (changes[index].new?.memorySize ?? 0)
            memorySize += changes[index].record.oldInvalidValue?.memorySize ?? 0
            memorySize += changes[index].record.invalidValue?.memorySize ?? 0
        }
        for change in suiteChanges {
            memorySize += MemorySize.text(change.suite.text) + (change.replaced?.document.memorySize ?? 0)
            memorySize += MemorySize.text(change.schemaText) + MemorySize.text(change.replaced?.text)
            if case .schemaSet(_, let document) = change.kind { memorySize += document.memorySize }
        }
        for event in pending { memorySize += event.memorySize }
        if case .setting(let setting)? = answer {
            memorySize += MemorySize.text(setting.suite.text) + MemorySize.text(setting.key.text)
            memorySize += (setting.value?.memorySize ?? 0) + (setting.previous?.value?.memorySize ?? 0)
        }
        return memorySize
    }

    /// The approximate number of bytes of memory of the values and schemas that the commit replaced or removed. Copies
    /// of the state before the commit still refer to these values and schemas.
    package var replacedBytes: Int {
        var bytes = 0
        let changes = changes.span
        for index in changes.indices {
            bytes += (changes[index].old?.memorySize ?? 0) + (changes[index].record.oldInvalidValue?.memorySize ?? 0)
        }
        for change in suiteChanges {
            bytes += change.replaced.map { MemorySize.schema($0.document, $0.text) } ?? 0
        }
        return bytes
    }
}
