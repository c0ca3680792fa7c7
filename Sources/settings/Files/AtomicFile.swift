import Platform
import SettingsModel

/// A file whose content is replaced as a whole. Another process sees the old file or the complete new file, even if
/// this process is killed or the power fails during the replacement.
///
/// A replacement writes and syncs a new file in the same directory, runs the check, renames the new file to the path of
/// the old file, and runs the reload. During the replacement, the process has a lock that excludes other processes.
struct AtomicFile: Sendable {
    /// Shell commands that run while the file is replaced.
    struct Commands: Sendable {
        /// A command that fails if the new content is invalid. `{}` stands for the path of a file with the new content.
        var check: String?
        /// A command that makes a service read the new file.
        var reload: String?
        /// The time limit of each command, and of the wait for a process that replaces the file at the same time. A
        /// command that exceeds the limit is stopped and counts as failed.
        var timeout = Duration.seconds(30)
    }

    /// The error if the check or the reload fails. The description is the message for people.
    struct CommandFailure: Error, CustomStringConvertible {
        let description: String
        /// The last lines of the output of the command.
        fileprivate var output = ""
    }

    private static let fileSystem = POSIXFileSystem()
    /// The time between two attempts to get the lock.
    private static let lockInterval = Duration.milliseconds(20)

    /// The path from `init` as messages show it.
    private let path: String
    private let commands: Commands
    /// The permission bits of the file. Not used for an existing file if `keepsOwnerAndMode` is true.
    private let mode: UInt32
    /// True if an existing file keeps its owner, its group and its permission bits.
    private let keepsOwnerAndMode: Bool
    /// The path of the file to which `path` leads if `path` is a symbolic link; otherwise `path`.
    private let target: String
    /// The directory of `target`.
    private let directory: String
    /// The name of `target` in `directory`.
    private let name: String

    /// - Parameter path: the path of the file. If a symbolic link has this path, the link stays, and the file to which
    ///   the link leads is replaced.
    init(path: String, mode: UInt32, keepsOwnerAndMode: Bool, commands: Commands = Commands()) throws(ToolError) {
        (self.mode, self.keepsOwnerAndMode, self.commands) = (mode, keepsOwnerAndMode, commands)
        self.path = Terminal.escaped(path.withVisibleBytes)
        do throws(FileError) {
            target = try POSIXFileSystem.target(ofLinksAt: path)
        } catch {
            throw ToolError(.failed, "cannot read \(self.path): \(error.reason)")
        }
        directory = target.parentDirectory ?? "."
        name = target.split(separator: "/").last.map(String.init) ?? target
    }

    /// True if both values replace the same file: the same name in the same directory. If the directory does not exist,
    /// compares the paths of the directories.
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
            throw ToolError(.failed, "cannot read \(path): \(error.reason)")
        }
        do throws(UnreadableFile) {
            return try FileContents.readRegularFile(target, upTo: .max)
        } catch {
            throw ToolError(.failed, "cannot read \(path): \(error.reason)")
        }
    }

    /// Replaces the file, and returns true. Does nothing and returns false if the file already has the content and its
    /// mode need not change.
    ///
    /// If the check fails, the old file stays. If the reload fails, the old file is put back; without an old file, the
    /// new file is removed. In both cases, throws ``CommandFailure`` with the output of the command.
    func update(to content: [UInt8]) throws -> Bool {
        do {
            // A file that already has the content needs no lock, and so no permission to create a file in its
            // directory.
            if leftovers.isEmpty, try hasContent(content) { return false }
            let lock = try lock()
            defer { withExtendedLifetime(lock) { try? Self.fileSystem.remove(lockPath) } }
            try recoverFromKilledProcess()
            guard try !hasContent(content) else { return false }
            try replace(by: content)
            return true
        } catch let error as FileError {
            let owner = error.call == .setOwner ? "; only root can keep the owner of the file" : ""
            throw ToolError(.failed, "cannot write \(path): \(error.reason)\(owner)")
        }
    }

    /// True if the file has the content, and its mode need not change.
    private func hasContent(_ content: [UInt8]) throws -> Bool {
        try self.content() == content && (keepsOwnerAndMode || Self.fileSystem.status(target).mode == mode)
    }

    // MARK: Steps

    /// The path of a hard link to the old file. The link exists until the reload has succeeded.
    ///
    /// If this process is killed during the reload, the next update finds the link and puts the old file back. Without
    /// the link, the next update would find the new content, write nothing, and not run the reload.
    private var oldFileLink: String { "\(directory)/\(hiddenPrefix)old" }

    /// The path of a hard link to the new file, in place of ``oldFileLink`` if there is no old file. The link exists
    /// until the reload has succeeded.
    ///
    /// If this process is killed during the reload, the next update finds the link and removes the new file.
    private var firstFileLink: String { "\(directory)/\(hiddenPrefix)first" }

    /// The beginning of the names of all files that belong to a replacement.
    private var hiddenPrefix: String { ".\(name).settings-" }

    /// The path of the file with the lock. Each process removes the file before it releases the lock.
    private var lockPath: String { "\(directory)/\(hiddenPrefix)lock" }

    /// The names of the files of a process that replaces the file, or that was killed while it replaced the file.
    private var leftovers: [String] {
        ((try? Self.fileSystem.list(directory)) ?? []).filter { name in
            guard name.utf8.starts(with: hiddenPrefix.utf8) else { return false }
            let ending = name.utf8.dropFirst(hiddenPrefix.utf8.count)
            // A file with another ending belongs to no replacement: its own name happens to begin like `hiddenPrefix`.
            return ["lock", "old", "first"].contains(Substring(ending)) || ending.starts(with: "new-".utf8)
        }
    }

    /// Waits until no other process replaces the file. The lock ends when the result is released.
    private func lock() throws -> OpenFile {
        let end = ContinuousClock.now + commands.timeout
        while true {
            let file = try OpenFile(lockPath, .creating, in: Self.fileSystem)
            // The process that had the lock may have removed the file after this process opened it. Another process may
            // then have locked a new file.
            if try file.lock(), try file.isLocated(at: lockPath) { return file }
            guard ContinuousClock.now < end else {
                throw ToolError(.failed, "cannot write \(path): another process is replacing it")
            }
            CurrentThread.sleep(for: Self.lockInterval)
        }
    }

    /// Reverts the update of a process that was killed before its reload succeeded, and removes the incomplete new
    /// files of killed processes.
    private func recoverFromKilledProcess() throws(FileError) {
        for name in leftovers {
            let path = "\(directory)/\(name)"
            if path.hasSameBytes(as: oldFileLink) || path.hasSameBytes(as: firstFileLink) {
                try revert()
            } else if !path.hasSameBytes(as: lockPath) {
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
        let newFile = "\(directory)/\(hiddenPrefix)new-\(String(UInt64.random(in: 0 ... .max), radix: 36))"
        let link = old == nil ? firstFileLink : oldFileLink
        do {
            let file = try OpenFile(newFile, .new, in: Self.fileSystem)
            try write(content, to: file, like: keepsOwnerAndMode ? old : nil)
            if let check = commands.check {
                let command = check.replacing("{}", with: EnvironmentFile.quoted(newFile))
                do throws(CommandFailure) {
                    try run(command, "the check '\(check)'")
                } catch {
                    throw completeFailure(error, outcome: "the old file stays")
                }
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
        do throws(CommandFailure) {
            try run(reload, "the reload '\(reload)'")
        } catch let reloadFailure {
            var outcome = old == nil ? "the file is removed" : "the old file is back in place"
            do throws(FileError) {
                try revert()
            } catch {
                outcome =
                    old == nil
                    ? "the new file could not be removed: \(error)" : "the old file could not be put back: \(error)"
            }
            throw completeFailure(reloadFailure, outcome: outcome)
        }
        try? Self.fileSystem.remove(link)
    }

    /// Writes and syncs the new file, with the owner and the mode of `old`. If `old` is nil, the mode is ``mode``.
    private func write(_ content: [UInt8], to file: OpenFile, like old: FileStatus?) throws(FileError) {
        var status = try file.status()
        status.mode = mode
        try file.setAccess(like: old ?? status)
        try file.write(content.span, at: 0)
        try file.sync()
    }

    /// Runs a command. If the command fails, throws the reason and the output of the command.
    ///
    /// - Parameter subject: the command as the error message names it.
    private func run(_ command: String, _ subject: String) throws(CommandFailure) {
        let (code, output): (Int32?, [UInt8])
        do throws(SystemError) {
            (code, output) = try ShellCommand(command).runCapturingOutput(for: commands.timeout)
        } catch {
            throw CommandFailure(description: "cannot run /bin/sh: \(error.reason)")
        }
        guard code != 0 else { return }
        let end = code.map { "ended with exit code \($0)" } ?? "did not end within \(commands.timeout) and was stopped"
        let lines = String(decoding: output, as: UTF8.self).split(separator: "\n").map {
            "\n  \(Terminal.escaped(String($0), except: ["\t"]))"
        }
        throw CommandFailure(description: "\(Terminal.escaped(subject)) \(end)", output: lines.joined())
    }

    /// Makes the complete error of an update from the failure of a command.
    ///
    /// - Parameter outcome: the state of the file after the failure.
    private func completeFailure(_ failure: CommandFailure, outcome: String) -> CommandFailure {
        CommandFailure(description: "cannot replace \(path): \(failure.description); \(outcome)\(failure.output)")
    }
}
