internal import Glibc
internal import Platform
internal import SettingsModel

/// A file of kept writes that belongs to this adapter alone: it is locked, until the adapter or its program goes.
struct OutboxFile: Sendable {
    let path: String
    private let file: OpenFile
    private var size: Int
    private(set) var lastNumber: Int64
    /// The writes in it that have not ended, and the bytes of their lines.
    private var waiting = 0
    private var waitingSize = 0
    /// Whether lines can be added: not after a failure of which nobody knows what it left behind.
    private(set) var isSound = true

    /// Damaged lines that stand in it, and nowhere else.
    private(set) var damage: [[UInt8]] = []

    /// Whether all writes in it have ended.
    var isDone: Bool { waiting == 0 }

    /// Whether most of the file is about what has ended, and it is to be written anew without that.
    var isWasteful: Bool { size > wasteful && size / 2 > waitingSize }

    /// How large it is at least to be worth that.
    private var wasteful = 1 << 20

    /// Makes a file.
    ///
    /// - Parameters:
    ///   - path: where it is. A file that is there already is replaced, when all is written.
    ///   - writes: what it holds from the beginning, with their numbers.
    init(
        _ path: String, of owner: KeptOwner, writes: [(number: Int64, write: PendingChange)] = [],
        lastNumber: Int64 = 0, in files: any FileSystem
    ) throws(FileError) {
        self.path = path
        self.lastNumber = lastNumber
        // Locked before it has a name that others look for.
        file = try Self.draft(of: path, in: files)
        let draft = file.path
        var bytes = OutboxLine.head(owner).bytes
        let headSize = bytes.count
        for (number, write) in writes { bytes += OutboxLine.write(number, write).bytes }
        do throws(FileError) {
            try file.write(bytes.span, at: 0)
            try file.syncData()
            try files.rename(draft, to: path)
        } catch {
            try? files.remove(draft)
            throw error
        }
        size = bytes.count
        waiting = writes.count
        waitingSize = size - headSize
    }

    /// What files are called until they are written, behind the name of a file of this kind.
    static let draftEnding = ".new"

    /// Opens what is to become a file, and locks it. Somebody who clears up may be faster, and take it for something that
    /// was left behind; then another is tried, under another name, as the first may be removed yet.
    private static func draft(of path: String, in files: any FileSystem) throws(FileError) -> OpenFile {
        for attempt in 0..<mostDrafts {
            let draft = attempt == 0 ? path + draftEnding : "\(path)-\(attempt)\(OutboxFolder.ending)\(draftEnding)"
            try? files.remove(draft)
            let file = try OpenFile(draft, .new, in: files)
            do throws(FileError) {
                if try file.lockIfNamed() { return file }
            } catch {
                try? files.remove(draft)
                throw error
            }
            try? files.remove(draft)
        }
        throw FileError(.lock, path, code: EWOULDBLOCK)
    }

    /// More than there are programs that clear up at one moment.
    private static let mostDrafts = 20

    /// A file that was there, and is locked.
    init(_ file: OpenFile, _ contents: OutboxContents, of bytes: [UInt8]) {
        self.file = file
        damage = contents.damaged.map { Array(bytes[$0]) }
        // What is added where the end of a line is damaged would be a part of that line.
        isSound = contents.end == 0 || bytes[contents.end - 1] == UInt8(ascii: "\n")
        path = file.path
        size = contents.end
        lastNumber = contents.lastNumber
        waiting = contents.writes.count
        waitingSize = contents.writes.reduce(0) { $0 + $1.size }
    }

    /// Adds a write, on disk when this returns; its number, and the bytes of its line. If it throws, the write is not
    /// there.
    mutating func add(_ write: PendingChange) throws(FileError) -> (number: Int64, size: Int) {
        let number = lastNumber + 1
        let line = OutboxLine.write(number, write).bytes
        try append(line, isSynced: true)
        lastNumber = number
        begin(size: line.count)
        return (number, line.count)
    }

    /// Puts another form of a write in its place, on disk when this returns; the bytes of its line.
    mutating func replace(_ number: Int64, by form: PendingChange, size old: Int) throws(FileError) -> Int {
        let line = OutboxLine.write(number, form).bytes
        try append(line, isSynced: true)
        waitingSize += line.count - old
        return line.count
    }

    /// Notes that a write has ended. If that gets lost, it is sent once more, under its request key.
    mutating func end(_ number: Int64, size: Int) {
        waiting -= 1
        waitingSize -= size
        try? append(OutboxLine.ended(number).bytes, isSynced: false)
    }

    /// It could not be written anew; when it is twice as large, it may be tried again.
    mutating func staysWasteful() {
        wasteful = 2 * size
    }

    /// Takes away what stands behind the last whole line.
    mutating func cutEnd() {
        do {
            try file.truncate(to: size)
        } catch {
            isSound = false
        }
    }

    private mutating func begin(size: Int) {
        waiting += 1
        waitingSize += size
    }

    private mutating func append(_ line: [UInt8], isSynced: Bool) throws(FileError) {
        guard isSound else { throw FileError(.write, path, code: EIO) }
        do throws(FileError) {
            try file.write(line.span, at: size)
        } catch {
            cutEnd()
            throw error
        }
        if isSynced {
            do throws(FileError) {
                try file.syncData()
            } catch {
                // What was not synced may be on disk nevertheless, and what is added behind it may not.
                cutEnd()
                isSound = false
                throw error
            }
        }
        size += line.count
    }
}
