/// Another process of this machine.
package struct RunningProcess: Equatable, Sendable {
    /// The number of the process.
    package let identifier: Int32

    package init(identifier: Int32) {
        self.identifier = identifier
    }

    /// True if the process runs a program with the name of this program. The system may give the number of an ended process
    /// to an unrelated process.
    package var hasNameOfCurrentProcess: Bool {
        guard let name = Self.programName(of: "self") else { return false }
        return Self.programName(of: String(identifier)) == name
    }

    private static func programName(of process: String) -> [UInt8]? {
        try? OpenFile("/proc/\(process)/comm", .reading, in: POSIXFileSystem()).readAll()
    }
}
