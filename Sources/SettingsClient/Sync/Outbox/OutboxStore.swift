internal import Platform
internal import SettingsModel

/// A queue of writes that wait to be sent, in memory and in a file. Starts no threads and sends nothing.
///
/// Each program has a file of its own in the directory of a suite, and locks it. A file without a lock is an orphan: its
/// program has gone. The next program that looks moves the writes of an orphan to its own file.
struct OutboxStore: Sendable {
    /// The bound of a queue. Beyond it writes are refused as without an outbox.
    struct Limits: Equatable, Sendable {
        var writes = 100_000
        /// Bytes of their lines.
        var size = 64 << 20
    }

    /// The reason why a write cannot be kept.
    struct Refusal: Error, Equatable, CustomStringConvertible {
        let description: String
    }

    /// A file of another program that cannot be used as it is.
    struct Trouble: Hashable, Sendable {
        let path: String
        let reason: String
    }

    /// The result of a look for orphans.
    struct Inheritance: Equatable, Sendable {
        /// The writes that were adopted, in order. They stand behind those that waited before.
        var writes: [PendingChange] = []
        var troubles: [Trouble] = []
        /// True if there are files that other programs have locked.
        var hasOthers = false
    }

    /// An orphan that is locked here until the own file holds its writes and it is removed.
    private struct Orphan {
        let file: OpenFile
        /// The damage of some of its lines; nil if there is none.
        let damage: String?
    }

    private let directory: String
    private let owner: KeptOwner
    private let files: any FileSystem
    private let limits: Limits
    private var queue = Deque<KeptWrite>()
    /// The bytes of the lines of the queue.
    private var queueSize = 0
    private var lastNumber: Int64 = 0
    /// The own file; nil until there is something to keep.
    private var file: OpenFile?
    private var fileSize = 0
    /// True if the own file holds the queue and lines can be appended: not after a failure, which may have left anything
    /// behind.
    private var isSound = false
    /// The size from which on a file that is mostly about ended writes is rewritten.
    private var rewriteSize = Self.leastRewriteSize
    private var orphans: [Orphan] = []

    private static let leastRewriteSize = 1 << 20
    /// More than there are programs that clear up at one moment.
    private static let maxDrafts = 20
    private static let ending = ".outbox"
    private static let draftEnding = ".outbox.new"

    init(
        in directory: String, of owner: KeptOwner, files: any FileSystem = POSIXFileSystem(),
        limits: Limits = Limits()
    ) {
        self.directory = directory
        self.owner = owner
        self.files = files
        self.limits = limits
    }

    /// The write to be sent next.
    var first: KeptWrite? { queue.first }
    var count: Int { queue.count }

    /// Appends a write, which is on disk when this returns.
    ///
    /// - Parameter form: the form in which it is sent.
    mutating func keep(_ original: PendingChange, as form: PendingChange) throws(Refusal) {
        guard queue.count < limits.writes, queueSize < limits.size else {
            throw Refusal(
                description: "\(queue.count) writes of \(queueSize) bytes wait already, which is as much as may")
        }
        do throws(FileError) {
            try repair()
            let line = OutboxLine.write(lastNumber + 1, form).bytes
            try append(line, isSynced: true)
            enqueue(original, form, size: line.count)
        } catch {
            throw Refusal(description: "\(error.path): \(error.reason)")
        }
    }

    /// Replaces the form of the first write. The new one is on disk when this returns.
    mutating func replaceFirst(by form: PendingChange) throws(FileError) {
        guard let first = queue.first else { return }
        try repair()
        // An orphan still has the old form: both would be sent after a crash.
        if !orphans.isEmpty { _ = dropOrphans() }
        if let orphan = orphans.first { throw FileError(.remove, orphan.file.path, code: SystemErrorCode.inputOutput) }
        let line = OutboxLine.write(first.number, form).bytes
        try append(line, isSynced: true)
        queueSize += line.count - first.size
        queue[0].form = form
        queue[0].size = line.count
        queue[0].conflicts += 1
    }

    /// Removes the first write. If that gets lost in a crash, it is sent once more, under its request key.
    mutating func endFirst() {
        guard let first = queue.popFirst() else { return }
        queueSize -= first.size
        try? append(OutboxLine.ended(first.number).bytes, isSynced: false)
        if queue.isEmpty {
            // If it stays, the next program that looks finds that all of its writes have ended.
            if let file { try? files.remove(file.path) }
            file = nil
            isSound = false
            queue = []
            _ = dropOrphans()
        } else if fileSize > rewriteSize, fileSize / 2 > queueSize {
            do {
                try rewrite()
                _ = dropOrphans()
            } catch {
                rewriteSize = 2 * fileSize
            }
        }
    }

    private mutating func enqueue(_ original: PendingChange, _ form: PendingChange, size: Int) {
        lastNumber += 1
        queueSize += size
        queue.append(KeptWrite(number: lastNumber, original: original, form: form, size: size))
    }
}

/// A write that waits to be sent.
struct KeptWrite: Equatable, Sendable {
    /// Its number in the file.
    let number: Int64
    /// The write that was asked for.
    let original: PendingChange
    /// The write that is sent for it.
    var form: PendingChange
    /// The bytes of its line.
    var size: Int
    /// How often a conflict has replaced its form.
    var conflicts = 0
}

/// The own file.
extension OutboxStore {
    private mutating func append(_ line: [UInt8], isSynced: Bool) throws(FileError) {
        guard let file, isSound else { throw FileError(.write, directory, code: SystemErrorCode.inputOutput) }
        do throws(FileError) {
            try file.write(line.span, at: fileSize)
            if isSynced { try file.syncData() }
        } catch {
            isSound = false
            try? file.truncate(to: fileSize)
            throw error
        }
        fileSize += line.count
    }

    /// Writes a file with all that waits, in the place of the own one if there is one.
    private mutating func rewrite() throws(FileError) {
        if file == nil { try files.makeDirectory(directory) }
        let path = if let file { file.path } else { try newPath() }
        let (draft, name) = try openDraft(of: path)
        var bytes = OutboxLine.head(owner).bytes
        for write in queue { bytes += OutboxLine.write(write.number, write.form).bytes }
        do throws(FileError) {
            try draft.write(bytes.span, at: 0)
            try draft.syncData()
            try files.rename(name, to: path)
        } catch {
            try? files.remove(name)
            throw error
        }
        file = draft
        fileSize = bytes.count
        rewriteSize = Self.leastRewriteSize
        isSound = false
        try files.syncDirectory(directory)
        isSound = true
    }

    /// Makes a file that lines can be appended to, unless there is one.
    private mutating func repair() throws(FileError) {
        if isSound { return }
        try rewrite()
        _ = dropOrphans()
    }

    /// Returns a name for a file that sorts behind those that are there.
    private func newPath() throws(FileError) -> String {
        let numbers = try files.list(directory).compactMap { name -> Int64? in
            guard name.hasSuffix(Self.ending) else { return nil }
            return Int64(name.prefix { $0 != "-" }).flatMap { OutboxLine.numbers.contains($0) ? $0 : nil }
        }
        let digits = String((numbers.max() ?? 0) + 1)
        let zeros = String(repeating: "0", count: max(0, 10 - digits.utf8.count))
        return "\(directory)/\(zeros)\(digits)-\(Self.random)\(Self.ending)"
    }

    /// Makes a locked file that has not the name yet that other programs look for. A program that clears up drafts may lock
    /// it first; then another one is made.
    private func openDraft(of path: String) throws(FileError) -> (OpenFile, name: String) {
        for _ in 0..<Self.maxDrafts {
            let name = "\(directory)/\(Self.random)\(Self.draftEnding)"
            let draft = try OpenFile(name, .new, in: files, reportedAs: path)
            do throws(FileError) {
                if try draft.lock(), try draft.isLocated(at: name) { return (draft, name) }
            } catch {
                try? files.remove(name)
                throw error
            }
            try? files.remove(name)
        }
        throw FileError(.lock, path, code: SystemErrorCode.wouldBlock)
    }

    private static var random: String { String(UInt64.random(in: .min ... .max), radix: 36) }
}

/// The files of other programs.
extension OutboxStore {
    /// Adopts the writes of programs that have gone.
    mutating func inherit() -> Inheritance {
        var inheritance = Inheritance()
        let names: [String]
        do throws(FileError) {
            names = try files.list(directory).sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
        } catch {
            // Where this user may not look, nothing can have been kept; keeping something reports that.
            if !error.isMissingOrForbidden {
                inheritance.troubles.append(Trouble(path: directory, reason: error.reason))
            }
            return inheritance
        }
        let own = Set(orphans.map(\.file.path) + [file?.path].compactMap(\.self))
        let firstNew = orphans.count
        for name in names {
            let path = "\(directory)/\(name)"
            if name.hasSuffix(Self.ending), !own.contains(path) {
                do throws(FileError) {
                    try adopt(path, &inheritance)
                } catch {
                    if !error.isMissing { inheritance.troubles.append(Trouble(path: path, reason: error.reason)) }
                }
            } else if name.hasSuffix(Self.draftEnding), let draft = try? OpenFile(path, .writing, in: files),
                (try? draft.lockIfNamed()) == true
            {
                // Its program went before it was finished.
                try? files.remove(path)
            }
        }
        do throws(FileError) {
            if !inheritance.writes.isEmpty { try rewrite() }
            if isSound || queue.isEmpty { inheritance.troubles += dropOrphans() }
        } catch {
            for orphan in orphans[firstNew...] {
                guard let damage = orphan.damage else { continue }
                let trouble = Trouble(path: orphan.file.path, reason: "\(damage); it stays there, as \(error)")
                inheritance.troubles.append(trouble)
            }
        }
        return inheritance
    }

    private mutating func adopt(_ path: String, _ inheritance: inout Inheritance) throws(FileError) {
        let orphan = try OpenFile(path, .writing, in: files)
        guard try orphan.lockIfNamed() else {
            inheritance.hasOthers = true
            return
        }
        let bytes = try orphan.readAll()
        let contents: OutboxContents
        do throws(OutboxLineError) {
            contents = try OutboxContents(bytes)
        } catch {
            let version = if case .future(let version) = error { " (form \(version))" } else { "" }
            let reason = "written by a later version of this program\(version), and left as it is"
            return inheritance.troubles.append(Trouble(path: path, reason: reason))
        }
        // Two servers whose names are too long for a directory may share one.
        if let other = contents.owner, other != owner { return }
        // A program that ended while it adopted these may have left them in two files.
        let known = Set(queue.map(\.form.requestKey))
        let writes = contents.writes.map(\.write).filter { !known.contains($0.requestKey) }
        for write in writes { enqueue(write, write, size: OutboxLine.write(lastNumber + 1, write).bytes.count) }
        inheritance.writes += writes
        if !writes.isEmpty { isSound = false }
        let damage: String? =
            switch contents.damagedCount {
            case 0: nil
            case 1: "a line is damaged, and will not be sent"
            case let count: "\(count) lines are damaged, and will not be sent"
            }
        orphans.append(Orphan(file: orphan, damage: damage))
    }

    /// Removes the orphans, of which the queue has everything that can be read. Damaged ones are renamed, for people to look
    /// at. Those that cannot be removed stay locked.
    private mutating func dropOrphans() -> [Trouble] {
        var troubles: [Trouble] = []
        var rest: [Orphan] = []
        for orphan in orphans {
            let path = orphan.file.path
            let aside = "\(path.dropLast(Self.ending.utf8.count)).damaged"
            do throws(FileError) {
                if let damage = orphan.damage {
                    try files.rename(path, to: aside)
                    troubles.append(Trouble(path: path, reason: "\(damage); what is left of it is in \(aside)"))
                } else {
                    // One that stays behind empty is removed by the next program.
                    try orphan.file.truncate(to: 0)
                    try? files.remove(path)
                }
            } catch {
                rest.append(orphan)
                guard let damage = orphan.damage else { continue }
                troubles.append(Trouble(path: path, reason: "\(damage); it stays there, as \(error)"))
            }
        }
        orphans = rest
        return troubles
    }
}

extension OpenFile {
    /// Locks the file; false if another program has locked or removed it.
    func lockIfNamed() throws(FileError) -> Bool {
        guard try lock() else { return false }
        return try isLocated(at: path)
    }
}
