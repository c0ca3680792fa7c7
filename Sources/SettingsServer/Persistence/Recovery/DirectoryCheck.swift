internal import SettingsModel

/// What is in a data directory, without a lock and without changing anything: what `settingsd check` prints.
///
/// A daemon may be running meanwhile; what it writes while this reads can then look torn.
package struct DirectoryCheck: Sendable {
    /// What it comes to.
    package enum Verdict: String, Sendable {
        /// All is as it was written.
        case sound
        /// A crash left a tail in the newest journal that was never acknowledged; the next start cuts it.
        case torn
        /// Something cannot be read.
        case damaged
    }

    /// A file with what it is.
    package struct Entry: Sendable {
        package var name: String
        package var size: Int
        package var purpose: String
    }

    package private(set) var verdict = Verdict.sound
    package let path: String
    /// All files, by name.
    package private(set) var files: [Entry] = []
    /// What a start would go on from; nil if it would refuse, or if the directory is new.
    package private(set) var state: State?
    /// The durability that the daemon ran with last, and whether it stopped as it should.
    package private(set) var durability: Configuration.Durability?
    package private(set) var isClosed = false
    /// What is wrong or worth knowing, a sentence each.
    package private(set) var findings: [String] = []
    /// Why a start would refuse.
    package private(set) var refusal: RecoveryError?

    /// Looks at a directory. Throws only if that cannot be done.
    package init(_ directory: DataDirectory, limits: History.Limits = History.Limits()) throws(RecoveryError) {
        path = directory.path
        let recovery = Recovery(directory: directory, limits: limits)
        let names = try recovery.list().sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
        for name in names { files.append(try Self.entry(name, in: directory)) }
        do throws(RecoveryError) {
            if let recovered = try recovery.run() { take(recovered) }
            try checkOthers(directory, names)
        } catch {
            guard error.kind == .damaged else { throw error }
            verdict = .damaged
            refusal = error
        }
    }

    private mutating func take(_ recovered: Recovered) {
        state = recovered.state
        durability = recovered.head?.durability
        isClosed = recovered.isClosed
        findings += recovered.notes
        if recovered.mustBeginEpoch { findings.append("the next start begins a new epoch: writes may be missing") }
        if recovered.torn != nil { verdict = .torn }
        if !recovered.damagedSnapshots.isEmpty { verdict = .damaged }
    }

    /// Looks into what a start would not read: an older snapshot that is damaged is none to fall back on.
    private mutating func checkOthers(_ directory: DataDirectory, _ names: [String]) throws(RecoveryError) {
        for snapshot in directory.snapshots(among: names).dropLast() {
            do throws(SnapshotError) {
                _ = try SnapshotReader.read(snapshot, in: directory, limits: History.Limits())
            } catch {
                if case .file(let error) = error { throw RecoveryError(error) }
                let finding = "\(snapshot.name) is damaged (\(error.description))"
                guard !findings.contains(where: { $0.hasPrefix(finding) }) else { continue }
                findings.append("\(finding); a start does without it")
                verdict = .damaged
            }
        }
    }

    private static func entry(_ name: String, in directory: DataDirectory) throws(RecoveryError) -> Entry {
        do {
            let size = try directory.fileSystem.status(directory.path(of: name)).size
            return Entry(name: name, size: size, purpose: directory.purpose(of: name))
        } catch {
            throw RecoveryError(error)
        }
    }

    /// What to print, a line each.
    package var lines: [String] {
        var lines = ["\(path): \(verdict.rawValue)"]
        lines += files.map { "  \($0.name): \($0.purpose), \($0.size) bytes" }
        if let state {
            var settings = 0
            state.suites.forEach { suite in
                settings += suite.keyCount
                return true
            }
            lines.append("  epoch \(state.epoch), revision \(state.revision), last commit \(state.time)")
            lines.append(
                "  \(state.suites.count) suites, \(settings) settings, \(state.history.count) commits kept since revision "
                    + "\(state.history.floor)")
        }
        if let durability {
            let stop = isClosed ? "stopped in order" : "running, or not stopped in order"
            lines.append("  durability \(durability.rawValue), \(stop)")
        }
        lines += findings.map { "  \($0)" }
        if let refusal { lines.append("  a start refuses: \(refusal)") }
        return lines
    }
}

extension DataDirectory {
    /// What a file is there for, by its name.
    fileprivate func purpose(of name: String) -> String {
        if name == "LOCK" { return "the lock" }
        if !journals(among: [name]).isEmpty { return "journal" }
        if !snapshots(among: [name]).isEmpty { return "snapshot" }
        if !temporaries(among: [name]).isEmpty { return "left over, the next start removes it" }
        if name.hasPrefix("torn-") || name.hasPrefix(Self.asideName(of: "")) { return "put aside" }
        return "nothing of settingsd"
    }
}
