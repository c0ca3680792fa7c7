internal import CLinux
internal import Glibc
internal import Synchronization

/// Gives freed memory back to the system. The C library keeps most of what a burst has freed for the next one.
final class FreedMemory: Sendable {
    /// How much the process must have grown, in bytes, before a look at what of it is free pays.
    private static let step = 16 << 20
    /// How much it may grow between two looks while it does nothing much.
    private static let idle = 1 << 20

    private struct Resident {
        /// After the last trim, or less.
        var floor: Int
        /// At the last look.
        var last: Int
    }

    private let resident: Mutex<Resident>

    init() {
        let now = Self.residentBytes()
        resident = Mutex(Resident(floor: now, last: now))
    }

    /// Trims if the process has grown and grows no more. To be called about once a second, on no event loop: while free
    /// memory is looked through, threads that allocate may wait.
    func giveBack() {
        let now = Self.residentBytes()
        let isDue = resident.withLock { resident in
            let hasGrown = now >= resident.floor + Self.step && now <= resident.last + Self.idle
            resident.floor = min(resident.floor, now)
            resident.last = now
            return hasGrown
        }
        guard isDue else { return }
        malloc_trim(0)
        let left = Self.residentBytes()
        resident.withLock { $0 = Resident(floor: left, last: left) }
    }

    /// What the process has in memory; 0 if the system does not tell.
    private static func residentBytes() -> Int {
        let descriptor = open("/proc/self/statm", O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return 0 }
        defer { close(descriptor) }
        var text = [UInt8](repeating: 0, count: 128)
        let count = text.withUnsafeMutableBytes { read(descriptor, $0.baseAddress, $0.count) }
        let fields = text.prefix(max(0, count)).split(separator: UInt8(ascii: " "))
        guard fields.count > 1, let pages = Int(String(decoding: fields[1], as: UTF8.self)) else { return 0 }
        return pages * Int(getpagesize())
    }
}
