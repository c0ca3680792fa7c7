import Foundation
import Glibc
import Platform
import TestSupport

@testable import SettingsClient

/// The outbox files below a directory that are locked.
///
/// A new child process has a copy of every descriptor until it executes its program, and a copy holds the lock of its
/// file. A file may therefore still be locked shortly after the client has closed it, so tests wait for the count.
struct LockedOutboxFiles {
    let directory: String

    /// The number of locked outbox files.
    var count: Int {
        let fileSystem = POSIXFileSystem()
        let names = FileManager.default.enumerator(atPath: directory)?.compactMap { $0 as? String } ?? []
        return names.count { name in
            guard name.hasSuffix(".outbox") else { return false }
            let file = try? OpenFile("\(directory)/\(name)", .writing, in: fileSystem)
            // The result is false if another descriptor holds the lock, and nil if the file was removed.
            return (try? file?.lockIfPresent()) == false
        }
    }

    /// Waits until the count satisfies the condition. Returns false after `Deadline.patience` seconds.
    func waits(until isReached: (Int) -> Bool) -> Bool {
        let deadline = ContinuousClock.now + .seconds(Deadline.patience)
        while !isReached(count) {
            guard ContinuousClock.now < deadline else { return false }
            poll(nil, 0, 1)  // Sleeps for a millisecond.
        }
        return true
    }
}
