internal import Platform
internal import SettingsAPI
internal import SettingsEngine
internal import Synchronization

/// The past files that are in use: from the oldest on each goes on where the one before ends.
///
/// Called from any thread. The task that writes them adds and removes them, readers only cut off what is damaged.
package final class PastFiles: Sendable {
    let directory: DataDirectory
    private let log: Log
    private let files: Mutex<[PastFile]>

    private init(_ directory: DataDirectory, _ files: [PastFile], _ log: Log) {
        self.directory = directory
        self.log = log
        self.files = Mutex(files)
    }

    /// Finds the files that lead up to what memory has. Those that cannot be used are logged, and left where they are.
    ///
    /// - Parameters:
    ///   - last: the last commit that was recovered.
    ///   - history: what was recovered.
    static func open(
        _ directory: DataDirectory, upTo last: Revision, _ history: History, _ log: Log
    ) throws(RecoveryError) -> PastFiles {
        let names = try directory.reading { () throws(FileError) in try directory.list().past }.filter { $0.to <= last }
        var run: [PastFile] = []
        var next = names.last
        while let name = next {
            do throws(RecoveryError) {
                run.append(try PastReader.index(name, in: directory))
            } catch {
                log.error(
                    "cannot read \(name.name): \(error.reason); the history goes back to revision \(name.to) only")
                break
            }
            next = names.last { $0.to == name.from && $0.from < name.from }
        }
        if let newest = run.first, newest.to < history.oldestAvailable {
            log.warning(
                "the past files end at revision \(newest.to), and the history begins at \(history.oldestAvailable)")
            run = []
        }
        if run.count < names.count {
            log.warning(
                "\(names.count - run.count) past files are not used; 'settingsd check \(directory.path)' lists them")
        }
        return PastFiles(directory, run.reversed(), log)
    }

    /// Oldest first.
    var list: [PastFile] { files.withLock { $0 } }

    var newest: PastFile? { files.withLock { $0.last } }

    /// True if a file is in use.
    func has(_ file: PastFile) -> Bool { files.withLock { $0.contains { $0.to == file.to } } }

    /// Adds the newest file. If it does not go on where the one before ends, that and all others are of no use any more.
    func add(_ file: PastFile) {
        let isGap = files.withLock { files in
            let isGap = files.last.map { $0.to != file.from } ?? false
            if isGap { files = [] }
            files.append(file)
            return isGap
        }
        guard isGap else { return }
        log.error(
            "commits left the memory before they were on disk; the history goes back to revision \(file.from) only")
    }

    /// Removes the files up to the last one whose commits are all older than an age. Those before it are, too, whatever the
    /// clock said when they were written.
    ///
    /// - Parameter age: in milliseconds, counted back from the time that the ends of the files agree on.
    func removeOutdated(after age: Int64) {
        let outdated = files.withLock { files -> ArraySlice<PastFile> in
            var time = AgreedTime()
            for file in files { time.add(file.toTime, age: age) }
            guard let earliest = time.earliest(age: age),
                let last = files.lastIndex(where: { $0.latest.milliseconds < earliest })
            else { return [] }
            defer { files.removeFirst(last + 1) }
            return files[...last]
        }
        for file in outdated {
            do throws(FileError) {
                try directory.fileSystem.remove(directory.path(of: file.name))
            } catch {
                log.warning("cannot remove a past file that is too old: \(error); remove it by hand")
            }
        }
    }

    /// Takes a damaged file out of use, and those before it.
    func cut(_ file: PastFile, because error: RecoveryError) {
        let isFirst = files.withLock { files in
            guard let index = files.firstIndex(where: { $0.to == file.to }) else { return false }
            files.removeFirst(index + 1)
            return true
        }
        guard isFirst else { return }
        log.error("cannot read \(file.name): \(error.reason); the history goes back to revision \(file.to) only")
    }
}
