internal import Glibc
internal import Platform
internal import SettingsAPI
internal import SettingsModel

/// The journal file that is being written. It is given up as soon as anything about it is in doubt.
struct Journal: Sendable {
    let file: OpenFile
    private let identity: FileIdentity
    let head: JournalHead
    /// A number of its own for each file that is begun, so that what was found out about one is not taken for another.
    let generation: Int
    /// How much of the file counts: up to here it holds whole lines.
    private(set) var end: Int
    /// How far there is room made in it.
    private var allocated: Int
    /// The last commit in it.
    private(set) var last: Revision
    /// How much of it is on disk for sure, and the last commit of that.
    private(set) var synced: Place

    /// A place in the file.
    struct Place: Sendable {
        var end: Int
        var last: Revision
    }

    /// Whether all of it is on disk.
    var isSynced: Bool { synced.end == end }

    var place: Place { Place(end: end, last: last) }

    /// Begins a file, whole and durable with its name before this returns; in place of one of the same name, which then
    /// holds nothing that counts.
    ///
    /// - Parameter commits: commits that the file begins with, and which are durable with it.
    init(
        _ head: JournalHead, commits: [Commit] = [], generation: Int, in directory: DataDirectory
    ) throws(Unbegun) {
        var batch = JournalBatch()
        batch.add(head)
        var last = head.revision
        for commit in commits {
            batch.add(commit, after: last, followsSync: true)
            last = commit.revision
        }
        let fileSystem = directory.fileSystem
        let name = DataDirectory.journalName(after: head.revision)
        let temporary = directory.path(of: DataDirectory.temporaryName(of: name))
        let file: OpenFile
        let identity: FileIdentity
        let newest: NewestJournal
        do throws(FileError) {
            file = try OpenFile(temporary, .replacing, in: fileSystem, toBe: directory.path(of: name))
            try file.write(batch.bytes.span, at: 0)
            try file.sync()
            identity = try file.identity()
            newest = try NewestJournal(head.revision, in: directory)
        } catch {
            // It is of no use to anybody; what cannot be removed now is removed with the next start.
            try? fileSystem.remove(temporary)
            throw Unbegun(cause: error, mayBeThere: false)
        }
        do throws(FileError) {
            try fileSystem.rename(temporary, to: directory.path(of: name))
            try fileSystem.syncDirectory(directory.path)
            try newest.commit()
        } catch {
            throw Unbegun(cause: error, mayBeThere: true)
        }
        self.file = file
        self.identity = identity
        self.head = head
        self.generation = generation
        self.last = last
        end = batch.bytes.count
        allocated = end
        synced = Place(end: end, last: last)
    }

    /// Why a file could not be begun.
    struct Unbegun: Error {
        let cause: FileError
        /// Whether its name may already stand in the directory, now or after a crash.
        let mayBeThere: Bool
    }

    /// Why lines could not be added.
    enum Failure: Error {
        /// They are not there, and the file is as it was before.
        case cut(FileError)
        /// Nobody knows what of them is there: the file must be given up.
        case lost(FileError)

        var cause: FileError {
            switch self {
            case .cut(let error), .lost(let error): error
            }
        }
    }

    /// Adds lines. Cuts the file back if they cannot be written in full.
    mutating func append(_ batch: JournalBatch) throws(Failure) {
        makeRoom(for: batch.bytes.count)
        do throws(FileError) {
            try file.write(batch.bytes.span, at: end)
        } catch {
            try cutBack(because: error)
            throw .cut(error)
        }
        end += batch.bytes.count
        last = batch.last ?? last
    }

    /// How much room is made at a time: enough for about a thousand commits, and little enough not to be noticed.
    static let room = 256 << 10

    /// Makes room behind what is to be written, filled with zeros: a sync then has only content to write, and no blocks
    /// to take or lengths to change, which halves the time that it takes under load.
    private mutating func makeRoom(for count: Int) {
        let needed = end + count
        guard needed > allocated else { return }
        allocated = needed + Self.room
        do throws(FileError) {
            try file.makeRoom(needed..<allocated)
        } catch {
            // If there is no room at all, the write itself says so.
            allocated = needed
        }
    }

    /// Gives back the room that was not needed. Zeros behind the last line mean nothing, so nothing is lost if it
    /// fails.
    mutating func giveBackRoom() {
        guard allocated > end else { return }
        allocated = end
        try? file.truncate(to: end)
    }

    /// Checks that the journal's path still leads to it. Throws if what is written to it would not be found by a start.
    func checkPlace(in fileSystem: any FileSystem) throws(FileError) {
        guard try fileSystem.identity(of: file.path).isSameFile(as: identity) else {
            throw FileError(.status, file.path, code: ESTALE)
        }
    }

    /// Writes zeros where the next lines come, and syncs them. A write of so many bytes is then likely to succeed.
    mutating func reserve(_ count: Int) throws(Failure) {
        do throws(FileError) {
            try file.write([UInt8](repeating: 0, count: count).span, at: end)
        } catch {
            try cutBack(because: error)
            throw .cut(error)
        }
        allocated = max(allocated, end + count)
        do throws(FileError) {
            try file.syncData()
        } catch {
            throw .lost(error)
        }
    }

    /// Makes everything durable.
    mutating func sync() throws(Failure) {
        guard !isSynced else { return }
        do throws(FileError) {
            try file.syncData()
        } catch {
            throw .lost(error)
        }
        synced = place
    }

    /// Cuts off what could not be synced, as far as that can be done. The page cache may keep it although the disk does
    /// not have it: a process that starts again would read it, and no sync of its own would notice.
    func forgetUnsynced() {
        try? file.truncate(to: synced.end)
    }

    /// Takes note that somebody else made it durable up to a place.
    mutating func noteSynced(to place: Place) {
        if place.end > synced.end { synced = place }
    }

    /// Cuts off what was written beyond the end, for good: a part that comes back after a crash would be a commit whose
    /// writer was told that it was not made.
    private mutating func cutBack(because error: FileError) throws(Failure) {
        allocated = end
        do throws(FileError) {
            try file.truncate(to: end)
            try file.sync()
        } catch {
            throw .lost(error)
        }
    }
}
