import Foundation
import Glibc
import Platform
import TestSupport

@testable import SettingsClient

/// The locked files below a directory.
///
/// A process that is being started has a copy of every descriptor for a moment, and with the descriptors the locks. A
/// file may therefore still be locked shortly after the client has closed it, so tests wait for the count.
struct OpenFiles {
    let directory: String

    var count: Int {
        let machine = POSIXFileSystem()
        let names = FileManager.default.enumerator(atPath: directory)?.compactMap { $0 as? String } ?? []
        return names.count { name in
            guard name.hasSuffix(".outbox") else { return false }
            let file = try? OpenFile("\(directory)/\(name)", .writing, in: machine)
            // False: another descriptor holds the lock. Nil: the file was removed.
            return (try? file?.lockIfNamed()) == false
        }
    }

    /// False if that does not come about.
    func waits(until isReached: (Int) -> Bool) -> Bool {
        let limit = ContinuousClock.now + .seconds(Deadline.patience)
        while !isReached(count) {
            guard ContinuousClock.now < limit else { return false }
            poll(nil, 0, 1)
        }
        return true
    }
}
