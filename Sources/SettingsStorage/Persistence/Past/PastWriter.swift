internal import Platform
internal import SettingsAPI
internal import SettingsEngine
internal import SettingsModel

/// Writes commits from the history of a state into a past file (a file with older commits), in the format of
/// ``PastFile``. The commits are grouped by suite (a named set of settings) into fragments. Most fragments also contain
/// a base: the state of the suite after the last commit of the fragment.
struct PastWriter {
    /// The approximate minimum size in memory of the commits of a fragment. Only the earliest fragment of a suite in
    /// the file may be smaller. Reading a fragment of this size takes some milliseconds.
    private static let minimumFragmentBytes = 512 << 10

    private let state: State
    private var output: SnapshotWriter
    private var fragments: [PastFile.Fragment] = []
    private var buffer: [UInt8] = []
    private var json = JSONWriter()

    /// Writes the commits of a state after a revision durably into a past file. Returns the contents of the line that
    /// locates the lines of the index (see ``PastFile``), with the size of the file; nil if there are no such commits.
    /// The history of the state must have all commits after the revision.
    ///
    /// - Parameters:
    ///   - fromTime: the time of commit `from`; nil if it is not known.
    ///   - bytesSinceBase: the bytes of commits of each suite since its last base in a past file. The last fragment
    ///     of a suite gets a base if the suite is missing in this table, or if the base is smaller than these bytes.
    ///   - isCancelled: returns true if the writer has to stop and remove the file. The error is then `ECANCELED`.
    static func write(
        _ state: State, after from: Revision, at fromTime: Timestamp?, in directory: DataDirectory,
        _ bytesSinceBase: inout [SuiteName: Int], isCancelled: @escaping () -> Bool
    ) throws(FileError) -> PastFile? {
        let commits = state.history.commits(after: from)
        guard let last = commits.last else { return nil }
        let name = DataDirectory.pastFileName(from: from, to: last.revision)
        do throws(FileError) {
            let file = try OpenFile(directory.temporaryPath(of: name), .replacing, in: directory.fileSystem)
            var writer = PastWriter(state, file, isCancelled)
            let times = commits.map(\.commit.time)
            var pastFile = try writer.write(commits, bytesSinceBase: &bytesSinceBase) {
                PastFile(
                    name: name, from: from, to: last.revision, fromTime: fromTime, toTime: last.commit.time,
                    latestTime: times.max() ?? last.commit.time, suiteLines: $0, commitLines: $1)
            }
            pastFile.size = writer.output.offset
            try file.sync()
            try directory.renameTemporary(name)
            return pastFile
        } catch {
            // If the removal fails, the next start removes the temporary file.
            try? directory.removeTemporary(name)
            throw error
        }
    }

    private init(_ state: State, _ file: OpenFile, _ isCancelled: @escaping () -> Bool) {
        self.state = state
        output = SnapshotWriter(file, isCancelled)
    }

    private mutating func write(
        _ commits: [RetainedCommit], bytesSinceBase: inout [SuiteName: Int],
        _ makeIndex: (
            [(first: SuiteName, offset: Int)], [(first: Revision, earliest: Timestamp, offset: Int)]
        ) -> PastFile
    ) throws(FileError) -> PastFile {
        var bySuite: [SuiteName: [RetainedCommit]] = [:]
        for retained in commits { retained.forEachSuite { bySuite[$0, default: []].append(retained) } }
        for suite in bySuite.keys.ordered(by: <) {
            // Clearing the table limits its memory. Suites without an entry get a base earlier than necessary.
            if bytesSinceBase.count >= 1 << 16 { bytesSinceBase = [:] }
            try add(bySuite[suite] ?? [], of: suite, &bytesSinceBase[suite])
        }
        let entries = commits.map { retained in
            PastFile.CommitEntry(revision: retained.revision, time: retained.commit.time, suite: retained.firstSuite)
        }
        var suiteLines: [(first: SuiteName, offset: Int)] = []
        for line in fragments.chunks(of: PastFile.fragmentsPerLine) {
            suiteLines.append((line[line.startIndex].suite, try add("suites", Array(line))))
        }
        var commitLines: [(first: Revision, earliest: Timestamp, offset: Int)] = []
        for line in entries.chunks(of: PastFile.commitsPerLine) {
            let earliest = line.map(\.time).min() ?? line[line.startIndex].time
            commitLines.append((line[line.startIndex].revision, earliest, try add("commits", Array(line))))
        }
        let file = makeIndex(suiteLines, commitLines)
        let offset = try add { file.writeMembers(to: &$0) }
        try add { $0.member("index", Int64(offset)) }
        return file
    }

    /// Adds the fragments of a suite. Begins with the last fragment: this method computes the base of an earlier
    /// fragment by undoing the later commits.
    private mutating func add(
        _ commits: [RetainedCommit], of name: SuiteName, _ bytesSinceBase: inout Int?
    ) throws(FileError) {
        var suite = state.suite(name)
        let size = commits.reduce(0) { $0 + $1.size }
        bytesSinceBase = bytesSinceBase.map { $0 + size }
        var base = suite
        var hasBase = bytesSinceBase.map { suite.rendersWithin($0) } ?? true
        if hasBase { bytesSinceBase = 0 }
        let start = fragments.count
        var fragmentCommits: [RetainedCommit] = []
        var fragmentSize = 0
        for (number, retained) in commits.reversed().enumerated() {
            fragmentCommits.append(retained)
            fragmentSize += retained.size
            guard size >= Self.minimumFragmentBytes, number < commits.count - 1 else { continue }
            suite.undo(retained.commit, of: name) { state.history.origin(of: $0) }
            guard fragmentSize >= Self.minimumFragmentBytes, suite.rendersWithin(fragmentSize) else { continue }
            try add(fragmentCommits.reversed(), of: name, base: hasBase ? base : nil, hasBase: hasBase)
            (fragmentCommits, fragmentSize, base, hasBase) = ([], 0, suite, true)
        }
        try add(fragmentCommits.reversed(), of: name, base: hasBase ? base : nil, hasBase: hasBase)
        fragments[start...].reverse()
    }

    /// Adds a fragment. If `hasBase` is true and `base` is nil, the base says that the suite did not exist.
    private mutating func add(
        _ commits: [RetainedCommit], of suite: SuiteName, base: Suite?, hasBase: Bool
    ) throws(FileError) {
        guard let first = commits.first, let last = commits.last else { return }
        var suites = OrderedTree<Suite>()
        if let base { suites.set(base) }
        var history = History(oldestAvailable: .zero)
        for retained in commits { history.append(retained, limits: .unbounded) }
        let document = State(
            epoch: state.epoch, revision: last.revision, time: last.commit.time, suites: suites,
            lastDropRevision: .zero, history: history, limits: .unbounded)
        fragments.append(
            PastFile.Fragment(
                suite: suite, first: first.revision, last: last.revision, offset: output.offset, hasBase: hasBase))
        // The format of a snapshot requires the revision of a journal. Readers of past files do not use it.
        try output.add(document, journal: last.revision)
    }

    /// Adds a line of the index with an array of entries. Returns its offset.
    private mutating func add<Entry: JSONWritable>(_ member: String, _ entries: [Entry]) throws(FileError) -> Int {
        try add { json in
            json.name(member)
            json.beginArray()
            for entry in entries { entry.write(to: &json) }
            json.endArray()
        }
    }

    /// Adds a line of JSON with a checksum. Returns its offset.
    @discardableResult
    private mutating func add(_ members: (inout JSONWriter) -> Void) throws(FileError) -> Int {
        json.removeAll(keepingCapacity: true)
        json.beginObject()
        members(&json)
        json.endObject()
        buffer.removeAll(keepingCapacity: true)
        JournalLine.write(json, to: &buffer)
        return try output.add(line: buffer)
    }
}

extension Suite? {
    /// True if the suite takes at most about the given number of bytes in a file. True for nil (no such suite).
    fileprivate func rendersWithin(_ bytes: Int) -> Bool {
        guard let self else { return true }
        let limit = Cost(microseconds: .infinity, bytes: bytes)
        let cost = self.renderingCost(within: limit) + .rendering(self.schema?.schema.document, within: limit)
        return !cost.exceeds(limit)
    }
}

extension Array {
    package func chunks(of size: Int) -> [ArraySlice<Element>] {
        stride(from: 0, to: count, by: size).map { self[$0..<Swift.min($0 + size, count)] }
    }
}
