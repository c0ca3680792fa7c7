internal import CLinux
internal import Glibc

/// What the system says of the process.
package struct ProcessFigures {
    package let residentBytes: Int
    package let virtualBytes: Int
    package let openFiles: Int
    package let mostFiles: Int
    package let seconds: Double

    package init() {
        (virtualBytes, residentBytes) = Self.memory()
        openFiles = OpenFileLimit.openCount
        mostFiles = OpenFileLimit.most
        var usage = rusage()
        getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
        let microseconds = usage.ru_utime.tv_usec + usage.ru_stime.tv_usec
        seconds = Double(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) + Double(microseconds) / 1_000_000
    }

    private static func memory() -> (virtual: Int, resident: Int) {
        let pages = statm()
        let pageSize = Int(sysconf(Int32(_SC_PAGESIZE)))
        return ((pages.first ?? 0) * pageSize, (pages.count > 1 ? pages[1] : 0) * pageSize)
    }

    /// The numbers of `/proc/self/statm`: pages of memory, in all and resident first.
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
