package import Platform
internal import SettingsModel

/// An exclusive lock on a data directory, which keeps other daemons out. The deallocation of the object releases the
/// lock.
///
/// The object locks the directory itself, because a lock on a file is useless after the file is deleted. The object
/// also locks the file `LOCK`, because some file systems cannot lock directories. Thread-safe.
package final class DirectoryLock: Sendable {
    private let directory: DataDirectory
    private let directoryFile: OpenFile
    private let identity: FileIdentity
    /// The file `LOCK`; nil if it is missing and cannot be created.
    private let lockFile: OpenFile?

    /// Locks the directory. Creates the directory if it is missing.
    package init(_ directory: DataDirectory) throws(RecoveryError) {
        self.directory = directory
        do throws(FileError) {
            try directory.fileSystem.makeDirectory(directory.path)
            directoryFile = try OpenFile(directory.path, .directory, in: directory.fileSystem)
            identity = try directoryFile.identity()
            let isFree = try Self.lock(directoryFile)
            lockFile = isFree ? try Self.openLockFile(of: directory) : nil
            if isFree, try lockFile?.lock() ?? true { return }
        } catch {
            throw RecoveryError(error)
        }
        let process = (try? directory.lockFileText()).flatMap { LockFileRecord.process(in: $0) }
        throw RecoveryError(
            .locked,
            "\(directory.path) is in use by another settingsd\(process.map { ", process \($0)" } ?? ""); stop that "
                + "daemon, or choose another directory with --data")
    }

    /// The process that last wrote `LOCK`; nil if `LOCK` does not name a process. The process may have ended.
    package static func process(of directory: DataDirectory) -> Int32? {
        (try? directory.lockFileText()).flatMap { LockFileRecord.process(in: $0) }.flatMap { Int32($0) }
    }

    /// Throws if the directory was removed or moved, so that its path no longer refers to the locked directory.
    package func verifyPath() throws(FileError) {
        let current = try directory.fileSystem.identity(of: directory.path)
        guard current.isSameFile(as: identity) else {
            throw FileError(.status, directory.path, code: SystemErrorCode.staleFile)
        }
    }

    /// Locks a directory. Returns false if another process has locked it. Returns true without a lock if the file
    /// system locks only files that are open for writing, as NFS does: there, the lock on the file `LOCK` suffices.
    private static func lock(_ directoryFile: OpenFile) throws(FileError) -> Bool {
        do throws(FileError) {
            return try directoryFile.lock()
        } catch {
            guard SystemErrorCode.meansUnsupportedLock(error.code) else { throw error }
            return true
        }
    }

    /// Opens or creates `LOCK`. On a read-only or full file system, opens `LOCK` for reading, or returns nil if the
    /// file is missing.
    private static func openLockFile(of directory: DataDirectory) throws(FileError) -> OpenFile? {
        let path = directory.path(of: DataDirectory.lockName)
        do throws(FileError) {
            return try OpenFile(path, .creating, in: directory.fileSystem)
        } catch {
            guard error.refusesWriting else { throw error }
        }
        do throws(FileError) {
            return try OpenFile(path, .reading, in: directory.fileSystem)
        } catch {
            guard error.isMissing else { throw error }
            return nil
        }
    }
}

extension DataDirectory {
    /// Writes the process identifier and the identifier of the directory durably into `LOCK`. The calling code has the
    /// lock.
    package func writeLockFile(directoryID: String) throws(FileError) {
        let file = try OpenFile(path(of: Self.lockName), .creating, in: fileSystem)
        let record = LockFileRecord(directoryID, in: try file.identity())
        try file.write(Array(record.text(process: CurrentProcess.identifier).utf8).span, at: 0)
        try file.sync()
    }

    /// The identifier of the directory according to `LOCK`; nil if `LOCK` has no identifier, or if the file is a copy.
    func lockFileDirectoryID() throws(FileError) -> String? {
        guard let record = try lockFileRecord(),
            record.belongs(to: try fileSystem.identity(of: path(of: Self.lockName)))
        else { return nil }
        return record.directoryID
    }

    /// True if `LOCK` was copied from another directory, or if the newest journal contains a directory identifier and
    /// `LOCK` is missing or lacks it. A journal without an identifier, which a repair makes, is no sign of a copy.
    func isCopy(directoryIDInJournal journalID: String?) throws(FileError) -> Bool {
        guard let ownID = try lockFileDirectoryID() else { return try lockFileRecord() != nil || journalID != nil }
        return journalID.map { !$0.hasSameBytes(as: ownID) } ?? false
    }

    private func lockFileRecord() throws(FileError) -> LockFileRecord? {
        try lockFileText().flatMap { LockFileRecord($0) }
    }

    /// The content of `LOCK`; nil if the file is missing.
    fileprivate func lockFileText() throws(FileError) -> String? {
        let file: OpenFile
        do throws(FileError) {
            file = try OpenFile(path(of: Self.lockName), .reading, in: fileSystem)
        } catch {
            guard error.isMissing else { throw error }
            return nil
        }
        var bytes = [UInt8](repeating: 0, count: 256)
        let count = try file.read(at: 0, into: &bytes)
        return String(decoding: bytes.prefix(count), as: UTF8.self)
    }
}

/// The content of `LOCK`, by which the daemon recognises a copied directory.
///
///     1234
///     directory 7f3a09c2 file 1835012 made 1763632800123456789
///
/// The first line is the process identifier of the daemon. The second line has the identifier of the directory (random,
/// also in the first line of each journal), then the inode number and the creation time of `LOCK`. A copy of `LOCK` has
/// a different inode number or creation time. The record does not contain the device number, because this number
/// changes if the file system is mounted elsewhere, although the directory is then no copy.
private struct LockFileRecord {
    let directoryID: String
    private let inode: UInt64
    /// The creation time of the file in nanoseconds; nil if the file system does not record it.
    private let creationTime: Int64?

    init(_ directoryID: String, in file: FileIdentity) {
        self.directoryID = directoryID
        inode = file.inode
        creationTime = file.creationTime
    }

    /// Parses the content of `LOCK`; nil if the second line is missing or not valid.
    init?(_ text: String) {
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        let words = lines.count > 1 ? lines[1].split(separator: " ") : []
        guard words.count >= 4, words[0] == "directory", words[2] == "file", let inode = UInt64(words[3]) else {
            return nil
        }
        directoryID = String(words[1])
        self.inode = inode
        creationTime = words.count == 6 ? Int64(words[5]) : nil
    }

    /// True if the record was written into the given file; false if it was copied from another file.
    func belongs(to file: FileIdentity) -> Bool {
        inode == file.inode && (creationTime == file.creationTime || creationTime == nil || file.creationTime == nil)
    }

    /// The process identifier in the content of `LOCK`; nil if the content does not begin with a digit.
    static func process(in text: String) -> String? {
        let digits = text.utf8.prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
        return digits.isEmpty ? nil : String(digits)
    }

    /// The content of `LOCK`. The process identifier is padded to ten characters, so that overwriting the file for
    /// another process never moves or damages the second line, not even if a crash interrupts the write.
    func text(process: Int32) -> String {
        let digits = String(process)
        let padding = String(repeating: " ", count: max(0, 10 - digits.utf8.count))
        let creation = creationTime.map { " made \($0)" } ?? ""
        return "\(digits)\(padding)\ndirectory \(directoryID) file \(inode)\(creation)\n"
    }
}
