internal import CLinux
internal import Glibc

/// A file in memory, without a name in any directory. The kernel frees the file when the object is deallocated or the
/// process has ended for any reason, and no other process has the file open.
package final class MemoryFile: Sendable {
    private let descriptor: Descriptor

    package init(_ bytes: Span<UInt8>) throws(SystemError) {
        let number = memfd_create("settings", UInt32(MFD_CLOEXEC))
        guard number >= 0 else { throw SystemError(call: "memfd_create") }
        descriptor = Descriptor(number)
        var writtenCount = 0
        while writtenCount < bytes.count {
            let remaining = bytes.extracting(writtenCount..<bytes.count)
            let count = remaining.withUnsafeBytes { write(number, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw SystemError(call: "write") }
            writtenCount += count
        }
    }

    /// A path at which other processes of the same user can open the file.
    package var path: String { "/proc/\(CurrentProcess.identifier)/fd/\(descriptor.number)" }

    /// Returns the last bytes of the file, at most `maximum` bytes.
    func lastBytes(_ maximum: Int) throws(SystemError) -> [UInt8] {
        var status = stat()
        guard fstat(descriptor.number, &status) == 0 else { throw SystemError(call: "fstat") }
        let start = max(0, Int(status.st_size) - maximum)
        var bytes = [UInt8](repeating: 0, count: Int(status.st_size) - start)
        let count = pread(descriptor.number, &bytes, bytes.count, off_t(start))
        guard count >= 0 else { throw SystemError(call: "pread") }
        return Array(bytes[..<count])
    }

    /// Redirects the given descriptors of a child process to the file.
    func addRedirection(of descriptors: [Int32], to actions: inout posix_spawn_file_actions_t) {
        for number in descriptors { posix_spawn_file_actions_adddup2(&actions, descriptor.number, number) }
    }
}
