internal import CLinux
internal import Glibc

/// The resources that the process uses, as the kernel reports them at the time of `init`.
package struct ProcessUsage {
    package let residentBytes: Int
    package let virtualBytes: Int
    package let openFileCount: Int
    package let openFileLimit: Int
    /// The processor time of all threads.
    package let processorSeconds: Double

    package init() {
        (virtualBytes, residentBytes) = Self.memory()
        openFileCount = OpenFileLimit.openCount
        openFileLimit = OpenFileLimit.current
        var usage = rusage()
        getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
        let microseconds = usage.ru_utime.tv_usec + usage.ru_stime.tv_usec
        processorSeconds = Double(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) + Double(microseconds) / 1_000_000
    }

    private static func memory() -> (virtual: Int, resident: Int) {
        let pages = statm()
        let pageSize = Int(sysconf(Int32(_SC_PAGESIZE)))
        return ((pages.first ?? 0) * pageSize, (pages.count > 1 ? pages[1] : 0) * pageSize)
    }

    /// Reads the numbers in `/proc/self/statm`. The first number is the size of the address space in pages, and the
    /// second number is the number of resident pages. The result is empty if `/proc` is not accessible.
    private static func statm() -> [Int] {
        let descriptor = open("/proc/self/statm", O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return [] }
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: 256)
        let count = read(descriptor, &bytes, bytes.count)
        return bytes[..<max(0, count)].split(separator: UInt8(ascii: " ")).compactMap {
            Int(String(decoding: $0, as: UTF8.self))
        }
    }
}
