import Platform
import SettingsModel

/// A file whose content is replaced as a whole. Another process sees the old file or the complete new file, even if
/// this process is killed or the power fails during the replacement.
///
/// A replacement writes and syncs a new file in the same directory, runs the check, renames the new file to the path of
/// the old file, and runs the reload.
struct AtomicFile: Sendable {
    /// Shell commands that run while the file is replaced.
    struct Commands: Sendable {
        /// A command that fails if the new content is invalid. `{}` stands for the path of a file with the new content.
        var check: String?
        /// A command that makes a service read the new file.
        var reload: String?
        /// The time limit of each command. A command that exceeds the limit is stopped and counts as failed.
        var timeout = Duration.seconds(30)
    }

    private static let fileSystem = POSIXFileSystem()

    /// The path from `init`, for messages.
    private let path: String
    private let commands: Commands
    /// The permission bits of the file. Not used for an existing file if `keepsAccess` is true.
    private let mode: UInt32
    /// True if an existing file keeps its owner, its group and its permission bits.
    private let keepsAccess: Bool
    /// The path of the file to which `path` leads if `path` is a symbolic link; otherwise `path`.
    private let target: String
    /// The directory of `target`.
    private let directory: String
    /// The name of `target` in `directory`.
    private let name: String

    /// - Parameter path: the path of the file. If a symbolic link has this path, the link stays, and the file to which
    ///   the link leads is replaced.
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

    /// True if both values replace the same file: the same name in the same directory.
    func isSameFile(as other: AtomicFile) -> Bool {
        guard name.hasSameBytes(as: other.name) else { return false }
        let identities = [self, other].map { try? Self.fileSystem.identity(of: $0.directory) }
        return identities[0] != nil
            ? identities[0] == identities[1] : directory.hasSameBytes(as: other.directory)
    }

    /// Reads the file. Returns nil if the file does not exist.
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

    /// Replaces the file, and returns true. Does nothing and returns false if the file already has the content and its
    /// mode need not change.
    ///
    /// If the check fails, the old file stays. If the reload fails, the old file is put back; without an old file, the
    /// new file is removed. In both cases, throws an error with the output of the command.
    func update(to content: [UInt8]) throws(ToolError) -> Bool {
        do {
            try recoverFromKilledProcess()
            let old = try self.content()
            let needsMode = try !keepsAccess && old != nil && Self.fileSystem.status(target).mode != mode
            guard old != content || needsMode else { return false }
            try replace(by: content)
            return true
        } catch {
            throw (error as? FileError).map(failure) ?? ToolError(describing: error)
        }
    }

    // MARK: Steps

    /// The path of a hard link to the old file. The link exists until the reload has succeeded.
    ///
    /// If this process is killed during the reload, the next update finds the link and puts the old file back.
    /// Otherwise the next update would find the new content, write nothing, and not run the reload.
    private var oldFileLink: String { "\(directory)/.\(name).settings-old" }

    /// The path of a hard link to the new file, in place of ``oldFileLink`` if there is no old file. The link exists
    /// until the reload has succeeded.
    ///
    /// If this process is killed during the reload, the next update finds the link and removes the new file.
    private var firstFileLink: String { "\(directory)/.\(name).settings-first" }

    /// Reverts the update of a process that was killed before its reload succeeded, and removes the incomplete new
    /// files of killed processes.
    private func recoverFromKilledProcess() throws(FileError) {
        guard let names = try? Self.fileSystem.list(directory) else { return }
        for name in names where name.hasPrefix(".\(self.name).settings-") {
            let path = "\(directory)/\(name)"
            if path == oldFileLink || path == firstFileLink {
                try revert()
            } else if name.hasPrefix(".\(self.name).settings-new-") {
                // A process holds the lock of its new file until it has renamed the file, so a file with a lock stays.
                guard let file = try? OpenFile(path, .reading, in: Self.fileSystem), (try? file.lock()) == true else {
                    continue
                }
                try? Self.fileSystem.remove(path)
            }
        }
    }

    /// Puts the old file back. If there was no old file, removes the new file.
    private func revert() throws(FileError) {
        if let first = try? Self.fileSystem.identity(of: firstFileLink) {
            if (try? Self.fileSystem.identity(of: target)) == first { try Self.fileSystem.remove(target) }
            try Self.fileSystem.remove(firstFileLink)
        } else {
            try Self.fileSystem.rename(oldFileLink, to: target)
            // If the new file has not replaced the old file, both names belong to the old file. Then the rename does
            // nothing, and the link still exists.
            try? Self.fileSystem.remove(oldFileLink)
        }
        try Self.fileSystem.syncDirectory(directory)
    }

    private func replace(by content: [UInt8]) throws {
        let old = try? Self.fileSystem.status(target)
        let newFile = "\(directory)/.\(name).settings-new-\(String(UInt64.random(in: 0 ... .max), radix: 36))"
        let link = old == nil ? firstFileLink : oldFileLink
        do {
            let file = try OpenFile(newFile, .new, in: Self.fileSystem, reportedAs: path)
            // Keep the lock until the file has its final name, because otherwise another process would remove the file.
            defer { withExtendedLifetime(file) {} }
            _ = try file.lock()
            try write(content, to: file, like: keepsAccess ? old : nil)
            if let check = commands.check {
                let command = check.replacing("{}", with: EnvironmentFile.quoted(newFile))
                try run(command, "the check '\(check)'", outcome: "the old file stays")
            }
            if commands.reload != nil {
                try POSIXFileSystem.link(old == nil ? newFile : target, to: link)
            }
            try Self.fileSystem.rename(newFile, to: target)
        } catch {
            try? Self.fileSystem.remove(newFile)
            try? Self.fileSystem.remove(link)
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
                let outcome = old == nil ? "the new file could not be removed" : "the old file could not be put back"
                throw ToolError(
                    failure.code,
                    "the reload '\(Terminal.plain(reload))' failed, and \(outcome): "
                        + ToolError(describing: error).message)
            }
            throw failure
        }
        try? Self.fileSystem.remove(link)
    }

    private func write(_ content: [UInt8], to file: OpenFile, like old: FileStatus?) throws(FileError) {
        var status = try file.status()
        status.mode = mode
        try file.setAccess(like: old ?? status)
        try file.write(content.span, at: 0)
        try file.sync()
    }

    /// Runs a command. If the command fails, throws an error with its output.
    ///
    /// - Parameters:
    ///   - subject: the command as the error message names it.
    ///   - outcome: the state of the file after a failure, for the error message.
    private func run(_ command: String, _ subject: String, outcome: String) throws(ToolError) {
        let (code, output): (Int32?, [UInt8])
        do throws(SystemError) {
            (code, output) = try ShellCommand(command).runCapturingOutput(for: commands.timeout)
        } catch {
            throw ToolError(.failed, "cannot run /bin/sh: \(error.reason)")
        }
        guard code != 0 else { return }
        let end = code.map { "ended with exit code \($0)" } ?? "did not end within \(commands.timeout) and was stopped"
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
