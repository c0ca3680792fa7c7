internal import Glibc
internal import Synchronization

/// The lock of a data directory, held while a daemon has it.
final class DirectoryLock: Sendable {
    private let file: Mutex<OpenFile?>

    /// Takes the lock, which also makes the directory if it is not there.
    init(_ directory: DataDirectory) throws(RecoveryError) {
        let file: OpenFile
        let isLocked: Bool
        do throws(FileError) {
            try directory.fileSystem.makeDirectory(directory.path)
            file = try OpenFile(directory.lockPath, .creating, in: directory.fileSystem)
            isLocked = try file.lock()
        } catch {
            throw RecoveryError(error)
        }
        guard isLocked else {
            let holder = Self.holder(file)
            throw RecoveryError(
                .locked,
                "\(directory.path) is in use by another settingsd\(holder.map { ", process \($0)" } ?? ""); stop that, or "
                    + "choose another directory with --data")
        }
        do throws(FileError) {
            try file.truncate(to: 0)
            try file.write(Array("\(getpid())\n".utf8).span, at: 0)
        } catch {
            throw RecoveryError(error)
        }
        self.file = Mutex(file)
    }

    /// Lets go of the directory.
    func release() {
        file.withLock { $0 = nil }
    }

    /// The process that wrote itself into the lock.
    private static func holder(_ file: OpenFile) -> String? {
        var bytes = [UInt8](repeating: 0, count: 32)
        let count = (try? file.read(at: 0, into: &bytes)) ?? 0
        let digits = bytes.prefix(count).prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
        return digits.isEmpty ? nil : String(decoding: digits, as: UTF8.self)
    }
}
