internal import Platform
internal import SettingsAPI
internal import SettingsEngine
internal import SettingsModel

/// A writer of the commits that a state still has in memory into a past file.
struct PastWriter {
    /// About the bytes of memory of the commits of a fragment at least, where a suite has so many. To read one takes some
    /// milliseconds.
    private static let fragment = 512 << 10

    private let state: State
    private var documents: SnapshotWriter
    private var fragments: [PastFile.Fragment] = []
    private var buffer: [UInt8] = []
    private var json = JSONWriter()

    /// Writes a file of the commits after a revision, durably, and returns its index; nil if there are none. All of them
    /// are in the history of the state.
    ///
    /// - Parameters:
    ///   - fromTime: the time of that revision, if it is known.
    ///   - sinceBase: for suites the bytes of commits since their last base. Those that are not in it get a base.
    ///   - isAbandoned: true once what was written is to be removed (`ECANCELED`).
    static func write(
        _ state: State, after from: Revision, at fromTime: Timestamp?, in directory: DataDirectory,
        sinceBase: inout [SuiteName: Int], isAbandoned: @escaping () -> Bool
    ) throws(FileError) -> PastFile? {
        let commits = state.history.commits(after: from)
        guard let last = commits.last else { return nil }
        let name = DataDirectory.pastName(from, last.revision)
        do throws(FileError) {
            let file = try OpenFile(directory.temporaryPath(of: name), .replacing, in: directory.fileSystem)
            var writer = PastWriter(state, file, isAbandoned)
            let times = commits.map(\.commit.time)
            var index = try writer.write(commits, named: name, sinceBase: &sinceBase) { suites, lines in
                PastFile(
                    name: name, from: from, to: last.revision, fromTime: fromTime, toTime: last.commit.time,
                    latest: times.max() ?? last.commit.time, suites: suites, commits: lines)
            }
            index.size = writer.documents.offset
            try file.sync()
            try directory.placeTemporary(name)
            return index
        } catch {
            // Only room is lost if it stays: the next start removes it.
            try? directory.removeTemporary(name)
            throw error
        }
    }

    private init(_ state: State, _ file: OpenFile, _ isAbandoned: @escaping () -> Bool) {
        self.state = state
        documents = SnapshotWriter(file, isAbandoned)
    }

    private mutating func write(
        _ commits: [KeptCommit], named name: String, sinceBase: inout [SuiteName: Int],
        _ index: (
            [(first: SuiteName, offset: Int)], [(first: Revision, earliest: Timestamp, offset: Int)]
        ) -> PastFile
    ) throws(FileError) -> PastFile {
        var bySuite: [SuiteName: [KeptCommit]] = [:]
        for kept in commits { kept.forEachSuite { bySuite[$0, default: []].append(kept) } }
        for suite in bySuite.keys.ordered(by: <) {
            // A suite that is not known here only gets a base too many.
            if sinceBase.count >= 1 << 16 { sinceBase = [:] }
            try add(bySuite[suite] ?? [], of: suite, &sinceBase[suite])
        }
        let entries = commits.map { kept in
            PastFile.Entry(revision: kept.revision, time: kept.commit.time, suite: kept.firstSuite)
        }
        var suites: [(first: SuiteName, offset: Int)] = []
        for line in fragments.chunks(of: PastFile.fragmentsInLine) {
            suites.append((line[line.startIndex].suite, try add("suites", Array(line))))
        }
        var lines: [(first: Revision, earliest: Timestamp, offset: Int)] = []
        for line in entries.chunks(of: PastFile.commitsInLine) {
            let earliest = line.map(\.time).min() ?? line[line.startIndex].time
            lines.append((line[line.startIndex].revision, earliest, try add("commits", Array(line))))
        }
        let file = index(suites, lines)
        let offset = try add { file.writeMembers(to: &$0) }
        try add { json in
            json.name("index")
            json.write(integer: Int64(offset))
        }
        return file
    }

    /// Adds the fragments of a suite, from the last one back, as the suite is known as it stands after all of them.
    private mutating func add(_ commits: [KeptCommit], of name: SuiteName, _ sinceBase: inout Int?) throws(FileError) {
        var suite = state.suite(name)
        let size = commits.reduce(0) { $0 + $1.size }
        sinceBase = sinceBase.map { $0 + size }
        var base = suite
        var hasBase = sinceBase.map { suite.isLighter(than: $0) } ?? true
        if hasBase { sinceBase = 0 }
        let start = fragments.count
        var part: [KeptCommit] = []
        var partSize = 0
        for (number, kept) in commits.reversed().enumerated() {
            part.append(kept)
            partSize += kept.size
            guard size >= Self.fragment, number < commits.count - 1 else { continue }
            suite.undo(kept.commit, of: name) { state.history.origin(of: $0) }
            guard partSize >= Self.fragment, suite.isLighter(than: partSize) else { continue }
            try add(part.reversed(), of: name, hasBase ? base : nil, hasBase)
            (part, partSize, base, hasBase) = ([], 0, suite, true)
        }
        try add(part.reversed(), of: name, hasBase ? base : nil, hasBase)
        fragments[start...].reverse()
    }

    private mutating func add(
        _ commits: [KeptCommit], of suite: SuiteName, _ base: Suite?, _ hasBase: Bool
    ) throws(FileError) {
        guard let first = commits.first, let last = commits.last else { return }
        var suites = OrderedTree<Suite>()
        if let base { suites.set(base) }
        var history = History(oldestAvailable: .zero)
        for kept in commits { history.append(kept, limits: .unbounded) }
        let document = State(
            epoch: state.epoch, revision: last.revision, time: last.commit.time, suites: suites, lastDrop: .zero,
            history: history, limits: .unbounded)
        fragments.append(
            PastFile.Fragment(
                suite: suite, first: first.revision, last: last.revision, offset: documents.offset, hasBase: hasBase))
        try documents.add(document, journal: last.revision)
    }

    /// Adds a line of entries. Returns its offset.
    private mutating func add<Entry: JSONWritable>(_ member: String, _ entries: [Entry]) throws(FileError) -> Int {
        try add { json in
            json.name(member)
            json.beginArray()
            for entry in entries { entry.write(to: &json) }
            json.endArray()
        }
    }

    @discardableResult
    private mutating func add(_ members: (inout JSONWriter) -> Void) throws(FileError) -> Int {
        json.removeAll(keepingCapacity: true)
        json.beginObject()
        members(&json)
        json.endObject()
        buffer.removeAll(keepingCapacity: true)
        JournalLine.write(json, to: &buffer)
        return try documents.add(line: buffer)
    }
}

extension Suite? {
    /// True if writing the suite takes about that many bytes at most.
    fileprivate func isLighter(than bytes: Int) -> Bool {
        guard let self else { return true }
        let limit = Cost(microseconds: .infinity, bytes: bytes)
        let cost =
            self.renderingCost(within: limit) + .rendering(self.schema?.schema.document, within: limit)
        return !cost.exceeds(limit)
    }
}

extension Array {
    package func chunks(of size: Int) -> [ArraySlice<Element>] {
        stride(from: 0, to: count, by: size).map { self[$0..<Swift.min($0 + size, count)] }
    }
}
