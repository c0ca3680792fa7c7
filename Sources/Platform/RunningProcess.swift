/// A process of this machine, identified by its process ID.
package struct RunningProcess: Equatable, Sendable {
    package let identifier: Int32

    package init(identifier: Int32) {
        self.identifier = identifier
    }

    /// True if the process runs a program with the same name as the program of the current process. The system may
    /// reuse the ID of an ended process for an unrelated process, so the calling code also checks the name.
    package var hasNameOfCurrentProcess: Bool {
        guard let name = Self.programName(of: "self") else { return false }
        return Self.programName(of: String(identifier)) == name
    }

    private static func programName(of process: String) -> [UInt8]? {
        try? OpenFile("/proc/\(process)/comm", .reading, in: POSIXFileSystem()).readAll()
    }
}
