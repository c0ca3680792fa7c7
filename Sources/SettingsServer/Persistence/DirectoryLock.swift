internal import Glibc
internal import Platform
internal import SettingsModel
internal import Synchronization

/// The lock of a data directory, held while a daemon has it.
///
/// It is on the directory itself, which stays the same file whatever is removed from it, and on `LOCK`, which is all
/// that older versions lock.
final class DirectoryLock: Sendable {
    private struct Held: Sendable {
        let directory: OpenFile
        /// Which directory it is, whatever its path leads to later.
        let identity: FileIdentity
        /// `LOCK`; nil if it is missing and cannot be made.
        let file: OpenFile?
    }

    private let directory: DataDirectory
    private let held: Mutex<Held?>

    /// Takes the lock, which also makes the directory if it is not there.
    init(_ directory: DataDirectory) throws(RecoveryError) {
        let held: Held?
        do throws(FileError) {
            held = try Self.take(directory)
        } catch {
            throw RecoveryError(error)
        }
        guard let held else {
            let process = (try? directory.lockText()).flatMap { DirectoryMark.process(in: $0) }
            throw RecoveryError(
                .locked,
                "\(directory.path) is in use by another settingsd\(process.map { ", process \($0)" } ?? ""); stop that, "
                    + "or choose another directory with --data")
        }
        self.directory = directory
        self.held = Mutex(held)
    }

    /// Releases the lock, so that another daemon can take it.
    func release() {
        held.withLock { $0 = nil }
    }

    /// Checks that the path of the directory still leads to it. Throws if it was removed or moved away.
    func checkPlace() throws(FileError) {
        let found = try directory.fileSystem.identity(of: directory.path)
        guard held.withLock({ $0?.identity.isSameFile(as: found) ?? false }) else {
            throw FileError(.status, directory.path, code: ESTALE)
        }
    }

    /// Locks the directory and `LOCK`; nil if another process has one of them.
    private static func take(_ directory: DataDirectory) throws(FileError) -> Held? {
        let fileSystem = directory.fileSystem
        try fileSystem.makeDirectory(directory.path)
        let folder = try OpenFile(directory.path, .directory, in: fileSystem)
        guard try lock(folder) else { return nil }
        let file = try lockFile(directory)
        guard try file?.lock() ?? true else { return nil }
        return Held(directory: folder, identity: try folder.identity(), file: file)
    }

    /// Locks a directory. Some file systems, as NFS, lock only what is open for writing: there `LOCK` is the only lock.
    private static func lock(_ folder: OpenFile) throws(FileError) -> Bool {
        do throws(FileError) {
            return try folder.lock()
        } catch {
            guard [EBADF, EINVAL, EISDIR, EOPNOTSUPP].contains(error.code) else { throw error }
            return true
        }
    }

    /// Opens `LOCK`, for reading only where nothing can be written.
    private static func lockFile(_ directory: DataDirectory) throws(FileError) -> OpenFile? {
        do throws(FileError) {
            return try OpenFile(directory.lockPath, .creating, in: directory.fileSystem)
        } catch {
            guard error.refusesWriting else { throw error }
        }
        do throws(FileError) {
            return try OpenFile(directory.lockPath, .reading, in: directory.fileSystem)
        } catch {
            guard error.isMissing else { throw error }
            return nil
        }
    }
}

extension DataDirectory {
    /// Writes this process and the name of the directory into `LOCK`, by which a later start knows that it is no copy.
    /// The mark is on disk when this returns. To be called with the lock held.
    func mark(as name: String) throws(FileError) {
        let file = try OpenFile(lockPath, .creating, in: fileSystem)
        let mark = DirectoryMark(name, in: try file.identity())
        try file.write(Array(mark.text(process: getpid()).utf8).span, at: 0)
        try file.sync()
    }

    /// The name of the directory by its mark; nil if it has none, or one that was written into another file.
    func markedName() throws(FileError) -> String? {
        guard let mark = try mark(), mark.belongs(to: try fileSystem.identity(of: lockPath)) else { return nil }
        return mark.directory
    }

    /// True if the directory is a copy, or has journals of another one: its `LOCK` was marked as another file, or its
    /// newest journal names another directory. A directory that only older versions wrote in has no mark, and is no
    /// copy.
    func isCopy(withJournalOf name: String?) throws(FileError) -> Bool {
        guard let own = try markedName() else { return try mark() != nil || name != nil }
        return name.map { !$0.hasSameBytes(as: own) } ?? false
    }

    private func mark() throws(FileError) -> DirectoryMark? {
        try lockText().flatMap { DirectoryMark($0) }
    }

    /// What `LOCK` holds; nil if it is not there.
    fileprivate func lockText() throws(FileError) -> String? {
        let file: OpenFile
        do throws(FileError) {
            file = try OpenFile(lockPath, .reading, in: fileSystem)
        } catch {
            guard error.isMissing else { throw error }
            return nil
        }
        var bytes = [UInt8](repeating: 0, count: 256)
        let count = try file.read(at: 0, into: &bytes)
        return String(decoding: bytes.prefix(count), as: UTF8.self)
    }
}
