import Platform

/// A file whose content is replaced as a whole. Another process sees the old file or the complete new file, also after a
/// crash at any moment.
struct RenderedFile: Sendable {
    private static let fileSystem = POSIXFileSystem()

    /// The path in messages.
    private let path: String
    /// A shell command that checks the new content. `{}` stands for the path of a file with the new content.
    private let check: String?
    /// A shell command that makes a service read the new file.
    private let reload: String?
    /// The permission bits of a new file.
    private let mode: UInt32
    /// The path behind symbolic links.
    private let target: String
    private let directory: String
    private let name: String

    /// - Parameter path: the file, or a symbolic link to it. The link stays.
    init(path: String, check: String?, reload: String?, mode: UInt32) throws(ToolError) {
        (self.path, self.check, self.reload, self.mode) = (path, check, reload, mode)
        do throws(FileError) {
            target = try POSIXFileSystem.target(ofLinksAt: path)
        } catch {
            throw ToolError(.failed, "cannot write \(Terminal.plain(path)): \(error.reason)")
        }
        directory = target.parentDirectory ?? "."
        name = target.split(separator: "/").last.map(String.init) ?? target
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
            guard try self.content() != content else { return false }
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

    private var prefixOfNewFiles: String { ".\(name).settings-new-" }

    /// Puts the old file back after a reload that did not end, and removes new files of processes that have ended.
    private func removeTraces() throws(FileError) {
        guard let names = try? Self.fileSystem.list(directory) else { return }
        for name in names {
            if name == ".\(self.name).settings-old" { try putBackOldFile() }
            guard name.hasPrefix(prefixOfNewFiles), let process = Int32(name.dropFirst(prefixOfNewFiles.count)) else {
                continue
            }
            // This process has no new file now, so a file with its number belongs to an earlier process.
            if process == CurrentProcess.identifier || !RunningProcess(identifier: process).hasNameOfCurrentProcess {
                try? Self.fileSystem.remove("\(directory)/\(name)")
            }
        }
    }

    private func putBackOldFile() throws(FileError) {
        try Self.fileSystem.rename(oldFile, to: target)
        // The rename does nothing if both names still belong to the same file.
        try? Self.fileSystem.remove(oldFile)
        try Self.fileSystem.syncDirectory(directory)
    }

    private func replace(by content: [UInt8]) throws {
        let old = try? Self.fileSystem.status(target)
        let newFile = "\(directory)/\(prefixOfNewFiles)\(CurrentProcess.identifier)"
        do {
            try write(content, to: newFile, like: old)
            if let check {
                let command = check.replacing("{}", with: EnvironmentFile.quoted(newFile))
                try run(command, "the check '\(check)'", outcome: "the old file stays")
            }
            if old != nil, reload != nil { try POSIXFileSystem.link(target, to: oldFile) }
            try Self.fileSystem.rename(newFile, to: target)
        } catch {
            try? Self.fileSystem.remove(newFile)
            try? Self.fileSystem.remove(oldFile)
            throw error
        }
        try Self.fileSystem.syncDirectory(directory)
        guard let reload else { return }
        do throws(ToolError) {
            try run(
                reload, "the reload '\(reload)'",
                outcome: old == nil ? "the file is removed" : "the old file is back in place")
        } catch {
            if old == nil {
                try Self.fileSystem.remove(target)
                try Self.fileSystem.syncDirectory(directory)
            } else {
                try putBackOldFile()
            }
            throw error
        }
        try? Self.fileSystem.remove(oldFile)
    }

    private func write(_ content: [UInt8], to newFile: String, like old: FileStatus?) throws(FileError) {
        let file = try OpenFile(newFile, .new, in: Self.fileSystem, reportedAs: path)
        var status = try file.status()
        status.mode = mode
        try file.setAccess(like: old ?? status)
        try file.write(content.span, at: 0)
        try file.sync()
    }

    /// Runs a command. Throws an error with its output if it fails.
    private func run(_ command: String, _ subject: String, outcome: String) throws(ToolError) {
        let (code, output): (Int32, [UInt8])
        do throws(SystemError) {
            (code, output) = try ShellCommand(command).runCapturingOutput()
        } catch {
            throw ToolError(.failed, "cannot run /bin/sh: \(error.reason)")
        }
        guard code != 0 else { return }
        let lines = String(decoding: output, as: UTF8.self).split(separator: "\n").map {
            "\n  \(Terminal.plain(String($0), except: ["\t"]))"
        }
        throw ToolError(
            .failed,
            "cannot replace \(Terminal.plain(path)): \(Terminal.plain(subject)) ended with \(code); \(outcome)"
                + lines.joined())
    }

    private func failure(_ error: FileError) -> ToolError {
        let owner = error.call == .setOwner ? "; only root can keep the owner of the file" : ""
        return ToolError(.failed, "cannot write \(Terminal.plain(path)): \(error.reason)\(owner)")
    }
}
