import Platform
import SettingsModel

/// A file whose content is replaced as a whole. Another process sees the old file or the complete new file, also after a
/// crash at any moment.
struct AtomicFile: Sendable {
    /// Shell commands that run while the file is replaced.
    struct Commands: Sendable {
        /// Checks the new content. `{}` stands for the path of a file with the new content.
        var check: String?
        /// Makes a service read the new file.
        var reload: String?
        /// The time after which a command is ended. The command has then failed.
        var timeout = Duration.seconds(30)
    }

    private static let fileSystem = POSIXFileSystem()

    /// The path in messages.
    private let path: String
    private let commands: Commands
    /// The permission bits of a new file.
    private let mode: UInt32
    /// True if an existing file keeps its owner and its mode.
    private let keepsAccess: Bool
    /// The path after symbolic links are resolved.
    private let target: String
    private let directory: String
    private let name: String

    /// - Parameter path: the file, or a symbolic link to it. The link stays.
    init(path: String, mode: UInt32, keepsAccess: Bool, commands: Commands = Commands()) throws(ToolError) {
        (self.path, self.mode, self.keepsAccess, self.commands) = (path, mode, keepsAccess, commands)
        do throws(FileError) {
            target = try POSIXFileSystem.target(ofLinksAt: path)
        } catch {
            throw ToolError(.failed, "cannot write \(Terminal.plain(path)): \(error.reason)")
        }
        directory = target.parentDirectory ?? "."
        name = target.split(separator: "/").last.map(String.init) ?? target
    }

    /// True if both paths lead to the same name in the same directory.
    func isSameFile(as other: AtomicFile) -> Bool {
        guard name.hasSameBytes(as: other.name) else { return false }
        let identities = [self, other].map { try? Self.fileSystem.identity(of: $0.directory) }
        return identities[0] != nil
            ? identities[0] == identities[1] : directory.hasSameBytes(as: other.directory)
    }

    /// The content; nil if the file does not exist.
    func content() throws(ToolError) -> [UInt8]? {
        do throws(FileError) {
            _ = try Self.fileSystem.status(target)
        } catch {
            if error.isMissing { return nil }
            throw failure(error)
        }
        do throws(UnreadableFile) {
            return try FileContents.readRegularFile(target, upTo: .max)
        } catch {
            throw ToolError(.failed, "cannot replace \(Terminal.plain(path)): \(error.reason)")
        }
    }

    /// Gives the file the content, unless it has the content already. Returns true if it wrote the file. If the check
    /// fails, the file is not replaced. If the reload fails, the old file is put back, or a first file is removed.
    func update(to content: [UInt8]) throws(ToolError) -> Bool {
        do {
            try removeTraces()
            let old = try self.content()
            let hasAccess = try keepsAccess || old == nil || Self.fileSystem.status(target).mode == mode
            guard old != content || !hasAccess else { return false }
            try replace(by: content)
            return true
        } catch {
            throw (error as? FileError).map(failure) ?? ToolError(describing: error)
        }
    }

    // MARK: Steps

    /// The second name of the old file during a reload. If the program is killed then, the next update puts the old file
    /// back, because otherwise it would find the new content in place and would not reload the service.
    private var oldFile: String { "\(directory)/.\(name).settings-old" }

    /// The second name of the new file during a reload if there was no old file. If the program is killed then, the next
    /// update removes the new file.
    private var firstFile: String { "\(directory)/.\(name).settings-first" }

    /// Reverts an update whose reload did not end, and removes new files that killed processes have left.
    private func removeTraces() throws(FileError) {
        guard let names = try? Self.fileSystem.list(directory) else { return }
        for name in names where name.hasPrefix(".\(self.name).settings-") {
            let path = "\(directory)/\(name)"
            if path == oldFile || path == firstFile {
                try revert()
            } else if name.hasPrefix(".\(self.name).settings-new-") {
                // The process that writes a new file holds its lock.
                guard let file = try? OpenFile(path, .reading, in: Self.fileSystem), (try? file.lock()) == true else {
                    continue
                }
                try? Self.fileSystem.remove(path)
            }
        }
    }

    /// Puts the old file back, or removes the first file.
    private func revert() throws(FileError) {
        if let first = try? Self.fileSystem.identity(of: firstFile) {
            if (try? Self.fileSystem.identity(of: target)) == first { try Self.fileSystem.remove(target) }
            try Self.fileSystem.remove(firstFile)
        } else {
            try Self.fileSystem.rename(oldFile, to: target)
            // The rename does nothing if both names still belong to the same file.
            try? Self.fileSystem.remove(oldFile)
        }
        try Self.fileSystem.syncDirectory(directory)
    }

    private func replace(by content: [UInt8]) throws {
        let old = try? Self.fileSystem.status(target)
        let newFile = "\(directory)/.\(name).settings-new-\(String(UInt64.random(in: 0 ... .max), radix: 36))"
        let secondName = old == nil ? firstFile : oldFile
        do {
            let file = try OpenFile(newFile, .new, in: Self.fileSystem, reportedAs: path)
            defer { withExtendedLifetime(file) {} }
            _ = try file.lock()
            try write(content, to: file, like: keepsAccess ? old : nil)
            if let check = commands.check {
                let command = check.replacing("{}", with: EnvironmentFile.quoted(newFile))
                try run(command, "the check '\(check)'", outcome: "the old file stays")
            }
            if commands.reload != nil {
                try POSIXFileSystem.link(old == nil ? newFile : target, to: secondName)
            }
            try Self.fileSystem.rename(newFile, to: target)
        } catch {
            try? Self.fileSystem.remove(newFile)
            try? Self.fileSystem.remove(secondName)
            throw error
        }
        try Self.fileSystem.syncDirectory(directory)
        guard let reload = commands.reload else { return }
        do throws(ToolError) {
            try run(
                reload, "the reload '\(reload)'",
                outcome: old == nil ? "the file is removed" : "the old file is back in place")
        } catch {
            let failure = error
            do {
                try revert()
            } catch {
                throw ToolError(
                    failure.code,
                    "the reload '\(Terminal.plain(reload))' failed, and the old file could not be put back: "
                        + ToolError(describing: error).message)
            }
            throw failure
        }
        try? Self.fileSystem.remove(secondName)
    }

    private func write(_ content: [UInt8], to file: OpenFile, like old: FileStatus?) throws(FileError) {
        var status = try file.status()
        status.mode = mode
        try file.setAccess(like: old ?? status)
        try file.write(content.span, at: 0)
        try file.sync()
    }

    /// Runs a command. Throws an error with its output if it fails.
    private func run(_ command: String, _ subject: String, outcome: String) throws(ToolError) {
        let (code, output): (Int32?, [UInt8])
        do throws(SystemError) {
            (code, output) = try ShellCommand(command).runCapturingOutput(for: commands.timeout)
        } catch {
            throw ToolError(.failed, "cannot run /bin/sh: \(error.reason)")
        }
        guard code != 0 else { return }
        let end = code.map { "ended with \($0)" } ?? "did not end within \(commands.timeout) and was stopped"
        let lines = String(decoding: output, as: UTF8.self).split(separator: "\n").map {
            "\n  \(Terminal.plain(String($0), except: ["\t"]))"
        }
        throw ToolError(
            .failed,
            "cannot replace \(Terminal.plain(path)): \(Terminal.plain(subject)) \(end); \(outcome)" + lines.joined())
    }

    private func failure(_ error: FileError) -> ToolError {
        let owner = error.call == .setOwner ? "; only root can keep the owner of the file" : ""
        return ToolError(.failed, "cannot write \(Terminal.plain(path)): \(error.reason)\(owner)")
    }
}
