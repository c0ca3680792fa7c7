package import Platform
internal import SettingsModel

/// The lock of a data directory, held for as long as the object lives.
///
/// It is on the directory itself, which stays the same file whatever is removed from it, and on `LOCK`, for file systems
/// that lock no directories.
package final class DirectoryLock: Sendable {
    private let directory: DataDirectory
    private let folder: OpenFile
    private let identity: FileIdentity
    /// `LOCK`; nil if it is missing and cannot be made.
    private let file: OpenFile?

    /// Takes the lock, and makes the directory if it is not there.
    package init(_ directory: DataDirectory) throws(RecoveryError) {
        self.directory = directory
        do throws(FileError) {
            try directory.fileSystem.makeDirectory(directory.path)
            folder = try OpenFile(directory.path, .directory, in: directory.fileSystem)
            identity = try folder.identity()
            let isFree = try Self.lock(folder)
            file = isFree ? try Self.lockFile(directory) : nil
            if isFree, try file?.lock() ?? true { return }
        } catch {
            throw RecoveryError(error)
        }
        let process = (try? directory.lockText()).flatMap { DirectoryMark.process(in: $0) }
        throw RecoveryError(
            .locked,
            "\(directory.path) is in use by another settingsd\(process.map { ", process \($0)" } ?? ""); stop that, "
                + "or choose another directory with --data")
    }

    /// The process that last had the lock; nil if that is not known. It may be gone.
    package static func process(of directory: DataDirectory) -> Int32? {
        (try? directory.lockText()).flatMap { DirectoryMark.process(in: $0) }.flatMap { Int32($0) }
    }

    /// Throws if the path of the directory does not lead to it any more, because it was removed or moved.
    package func checkPlace() throws(FileError) {
        let found = try directory.fileSystem.identity(of: directory.path)
        guard found.isSameFile(as: identity) else {
            throw FileError(.status, directory.path, code: SystemErrorCode.staleFile)
        }
    }

    /// Locks a directory. Some file systems, as NFS, lock only what is open for writing: there `LOCK` is the only lock.
    private static func lock(_ folder: OpenFile) throws(FileError) -> Bool {
        do throws(FileError) {
            return try folder.lock()
        } catch {
            guard SystemErrorCode.meansUnsupportedLock(error.code) else { throw error }
            return true
        }
    }

    /// Opens `LOCK`, for reading only where nothing can be written.
    private static func lockFile(_ directory: DataDirectory) throws(FileError) -> OpenFile? {
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
    /// Writes this process and the name of the directory into `LOCK`, durably. The caller holds the lock.
    package func mark(as name: String) throws(FileError) {
        let file = try OpenFile(path(of: Self.lockName), .creating, in: fileSystem)
        let mark = DirectoryMark(name, in: try file.identity())
        try file.write(Array(mark.text(process: CurrentProcess.identifier).utf8).span, at: 0)
        try file.sync()
    }

    /// The name of the directory by its mark; nil if it has none, or one that was written into another file.
    func markedName() throws(FileError) -> String? {
        guard let mark = try mark(), mark.belongs(to: try fileSystem.identity(of: path(of: Self.lockName))) else {
            return nil
        }
        return mark.directory
    }

    /// True if the directory is a copy, or has journals of another one: its `LOCK` was marked as another file, or its
    /// newest journal names another directory. Without any mark it is no copy.
    func isCopy(withJournalOf name: String?) throws(FileError) -> Bool {
        guard let own = try markedName() else { return try mark() != nil || name != nil }
        return name.map { !$0.hasSameBytes(as: own) } ?? false
    }

    private func mark() throws(FileError) -> DirectoryMark? {
        try lockText().flatMap { DirectoryMark($0) }
    }

    /// The content of `LOCK`; nil if it is not there.
    fileprivate func lockText() throws(FileError) -> String? {
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

/// A mark in `LOCK` that tells a directory from a copy of it.
///
///     1234
///     directory 7f3a09c2 file 1835012 made 1763632800123456789
///
/// The first line is the daemon's process. The second is the directory's name, which its journals have in their heads,
/// and the identity of `LOCK` itself. In a copy it is another file. The device is left out: the number of a file system
/// changes when it is mounted elsewhere, and a directory that moves with its file system stays what it is.
private struct DirectoryMark {
    let directory: String
    private let inode: UInt64
    /// The time when the file was made; nil where the file system does not record it.
    private let made: Int64?

    init(_ directory: String, in file: FileIdentity) {
        self.directory = directory
        inode = file.inode
        made = file.creationTime
    }

    /// Reads the content of `LOCK`; nil if it has no mark.
    init?(_ text: String) {
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        let words = lines.count > 1 ? lines[1].split(separator: " ") : []
        guard words.count >= 4, words[0] == "directory", words[2] == "file", let inode = UInt64(words[3]) else {
            return nil
        }
        directory = String(words[1])
        self.inode = inode
        made = words.count == 6 ? Int64(words[5]) : nil
    }

    /// True if the mark was written into this very file.
    func belongs(to file: FileIdentity) -> Bool {
        inode == file.inode && (made == file.creationTime || made == nil || file.creationTime == nil)
    }

    /// The process in the content of `LOCK`.
    static func process(in text: String) -> String? {
        let digits = text.utf8.prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
        return digits.isEmpty ? nil : String(digits)
    }

    /// The content of `LOCK` while a process has it. Its length depends on the mark only: overwriting it with the text of
    /// another process leaves the mark in place at every moment.
    func text(process: Int32) -> String {
        let digits = String(process)
        let padding = String(repeating: " ", count: max(0, 10 - digits.utf8.count))
        return "\(digits)\(padding)\ndirectory \(directory) file \(inode)" + (made.map { " made \($0)" } ?? "") + "\n"
    }
}
