internal import Platform
internal import SettingsAPI
internal import SettingsEngine
internal import Synchronization

/// The past files that the daemon uses, without gaps: each file begins at the revision at which the previous file ends.
///
/// A past file has the commits after the revision `from` up to the revision `to`, which the history in memory may have
/// evicted. The task that writes past files adds new files and removes expired files. A reader removes a damaged file
/// and all older files from the list. Thread-safe.
package final class PastFiles: Sendable {
    let directory: DataDirectory
    private let log: Log
    private let files: Mutex<[PastFile]>

    private init(_ directory: DataDirectory, _ files: [PastFile], _ log: Log) {
        (self.directory, self.log) = (directory, log)
        self.files = Mutex(files)
    }

    /// Opens the newest past file that ends at or before the last recovered commit, and the files that precede it
    /// without a gap. Opens no file if commits are missing between the newest file and the history in memory. Neither
    /// uses nor deletes other files.
    static func open(
        _ directory: DataDirectory, upTo lastRecovered: Revision, _ history: History, _ log: Log
    ) throws(RecoveryError) -> PastFiles {
        let listing = try directory.mapErrors { () throws(FileError) in try directory.list() }
        let names = listing.pastFiles.filter { $0.to <= lastRecovered }
        var chain: [PastFile] = []
        var next = names.last
        while let name = next {
            do throws(RecoveryError) {
                chain.append(try PastReader.index(name, in: directory))
            } catch {
                log.error("cannot read \(name.name): \(error.reason); \(Self.availability(upTo: name.to))")
                break
            }
            next = names.last { $0.to == name.from && $0.from < name.from }
        }
        // The history in memory has every commit after `oldestAvailable`.
        if let newest = chain.first, newest.to < history.oldestAvailable {
            let gap = "end at revision \(newest.to), and the history in memory begins after \(history.oldestAvailable)"
            log.warning("the past files are not used, because they \(gap)")
            chain = []
        }
        if chain.count < names.count {
            log.warning(
                "\(names.count - chain.count) past files are not used; 'settingsd check \(directory.path)' lists them")
        }
        return PastFiles(directory, chain.reversed(), log)
    }

    /// The files in use, oldest first.
    var list: [PastFile] { files.withLock { $0 } }

    var newest: PastFile? { files.withLock { $0.last } }

    func contains(_ file: PastFile) -> Bool { files.withLock { $0.contains { $0.to == file.to } } }

    /// Adds the newest file. If there is a gap between the previous file and this file, stops using all previous files.
    func add(_ file: PastFile) {
        let isGap = files.withLock { files in
            let isGap = files.last.map { $0.to != file.from } ?? false
            if isGap { files = [] }
            files.append(file)
            return isGap
        }
        guard isGap else { return }
        log.error("commits were evicted from memory and are not in a past file; \(Self.availability(upTo: file.from))")
    }

    /// Deletes the last file in which all commits have expired, and all older files, even if a wrong clock gave the
    /// commits of an older file later times. The clock may be wrong now, too. Ages are therefore relative to an
    /// ``AgreedTime``, an estimate of the present time that depends on the times of the commits only.
    ///
    /// - Parameter age: the maximum age of a commit in milliseconds.
    func removeExpiredFiles(maximumAge age: Int64) {
        let expired = files.withLock { files -> ArraySlice<PastFile> in
            var time = AgreedTime()
            // `toTime` is the time of the last commit of a file, and `latestTime` the latest time of all its commits.
            for file in files { time.add(file.toTime, maximumAge: age) }
            guard let earliestUnexpired = time.earliest(maximumAge: age),
                let last = files.lastIndex(where: { $0.latestTime.milliseconds < earliestUnexpired })
            else { return [] }
            defer { files.removeFirst(last + 1) }
            return files[...last]
        }
        for file in expired {
            do throws(FileError) {
                try directory.fileSystem.remove(directory.path(of: file.name))
            } catch {
                log.warning("cannot remove an expired past file: \(error); remove the file manually")
            }
        }
    }

    /// Stops using a damaged file and all files before it.
    func removeDamaged(_ file: PastFile, because error: RecoveryError) {
        let wasInUse = files.withLock { files in
            guard let index = files.firstIndex(where: { $0.to == file.to }) else { return false }
            files.removeFirst(index + 1)
            return true
        }
        guard wasInUse else { return }
        log.error("cannot read \(file.name): \(error.reason); \(Self.availability(upTo: file.to))")
    }

    private static func availability(upTo revision: Revision) -> String {
        "commits up to revision \(revision) are available only if they are in memory"
    }
}
