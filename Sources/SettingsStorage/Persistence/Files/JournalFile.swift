internal import Platform
internal import SettingsAPI
internal import SettingsModel

/// The journal file that is being written. Its owner gives it up as soon as its content is in doubt.
struct JournalFile: Sendable {
    /// A place in the file: its end at some moment, and the last commit before it.
    struct Place: Sendable {
        var end: Int
        var last: Revision
    }

    /// An error of a change to the file.
    struct Failure: Error {
        let cause: FileError
        /// True if everything is as it was before the change. Otherwise nothing is known, and the file must be given up.
        let isUndone: Bool
    }

    let file: OpenFile
    private let identity: FileIdentity
    let head: JournalHead
    /// The end of the whole lines. Behind it there may be zeros.
    private(set) var place: Place
    /// The end of what is known to be on disk.
    private(set) var synced: Place
    /// The end of the room that was made in the file.
    private var allocated: Int

    /// True if all of it is on disk.
    var isSynced: Bool { synced.end == place.end }

    /// Begins a file, with commits that are durable with it, and names it in `NEWEST`. All of that is on disk when this
    /// returns. Replaces a file of the same name, which then holds nothing that counts.
    ///
    /// If it fails without being undone, the name may stand in the directory, now or after a crash.
    init(_ head: JournalHead, commits: [Commit] = [], in directory: DataDirectory) throws(Failure) {
        var batch = JournalBatch()
        batch.add(head)
        for commit in commits { batch.add(commit, after: batch.last ?? head.revision, followsSync: true) }
        let name = DataDirectory.journalName(after: head.revision)
        do throws(FileError) {
            file = try directory.writeTemporary(name, batch.bytes)
            identity = try file.identity()
            var newest = JournalBatch()
            newest.add(newest: name)
            _ = try directory.writeTemporary(DataDirectory.newestName, newest.bytes)
        } catch {
            // What cannot be removed now is removed at the next start.
            try? directory.removeTemporary(name)
            throw Failure(cause: error, isUndone: true)
        }
        do throws(FileError) {
            try directory.placeTemporary(name)
            try directory.placeTemporary(DataDirectory.newestName)
        } catch {
            throw Failure(cause: error, isUndone: false)
        }
        self.head = head
        place = Place(end: batch.bytes.count, last: batch.last ?? head.revision)
        synced = place
        allocated = place.end
    }

    /// Adds lines. Cuts the file back if they cannot be written in full.
    mutating func append(_ batch: JournalBatch) throws(Failure) {
        makeRoom(for: batch.bytes.count)
        try write(batch.bytes.span)
        place = Place(end: place.end + batch.bytes.count, last: batch.last ?? place.last)
    }

    /// Writes zeros where the next lines come, and syncs them. A write of so many bytes is then likely to succeed.
    mutating func reserve(_ count: Int) throws(Failure) {
        try write([UInt8](repeating: 0, count: count).span)
        allocated = max(allocated, place.end + count)
        do throws(FileError) {
            try file.syncData()
        } catch {
            throw Failure(cause: error, isUndone: false)
        }
    }

    /// Makes everything durable.
    mutating func sync() throws(Failure) {
        guard !isSynced else { return }
        do throws(FileError) {
            try file.syncData()
        } catch {
            throw Failure(cause: error, isUndone: false)
        }
        synced = place
    }

    /// Notes that the file was synced up to a place, on another queue.
    mutating func noteSynced(to place: Place) {
        if place.end > synced.end { synced = place }
    }

    /// Cuts off what could not be synced, as far as that can be done. The page cache may keep it although the disk does
    /// not have it: a process that starts again would read it, and no sync of its own would notice.
    func forgetUnsynced() {
        try? file.truncate(to: synced.end)
    }

    /// Gives back the room that was not needed. Zeros behind the last line mean nothing, so nothing is lost if it
    /// fails.
    mutating func giveBackRoom() {
        guard allocated > place.end else { return }
        allocated = place.end
        try? file.truncate(to: place.end)
    }

    /// True if the journal's path still leads to it, so that a start finds what is written to it.
    func isInPlace(in fileSystem: any FileSystem) -> Bool {
        (try? fileSystem.identity(of: file.path))?.isSameFile(as: identity) ?? false
    }

    /// The room that is made at a time: enough for about a thousand commits, and quick to write.
    private static let room = 256 << 10

    /// Makes room behind what is to be written, filled with zeros. A sync then has only content to write, and no blocks
    /// to allocate, which halves its time under load.
    private mutating func makeRoom(for count: Int) {
        let needed = place.end + count
        guard needed > allocated else { return }
        allocated = needed + Self.room
        do throws(FileError) {
            try file.preallocate(needed..<allocated)
        } catch {
            // If there is no room at all, the write itself says so.
            allocated = needed
        }
    }

    /// Writes behind the end. If that fails, cuts off what was written, for good: a part that came back after a crash would
    /// be a commit that was refused.
    private mutating func write(_ bytes: Span<UInt8>) throws(Failure) {
        do throws(FileError) {
            try file.write(bytes, at: place.end)
        } catch {
            allocated = place.end
            do throws(FileError) {
                try file.truncate(to: place.end)
                try file.sync()
            } catch {
                throw Failure(cause: error, isUndone: false)
            }
            throw Failure(cause: error, isUndone: true)
        }
    }
}
