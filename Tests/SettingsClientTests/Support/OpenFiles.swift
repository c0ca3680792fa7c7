import Foundation
import Glibc
import Platform
import TestSupport

@testable import SettingsClient

/// The locked files below a directory.
///
/// A process that is being started has a copy of every descriptor for a moment, and with it the locks: who lets go of a
/// file in that moment has to wait for it to be free.
struct OpenFiles {
    let directory: String

    var count: Int {
        let machine = POSIXFileSystem()
        let names = FileManager.default.enumerator(atPath: directory)?.compactMap { $0 as? String } ?? []
        return names.count { name in
            guard name.hasSuffix(".outbox") else { return false }
            let file = try? OpenFile("\(directory)/\(name)", .writing, in: machine)
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
