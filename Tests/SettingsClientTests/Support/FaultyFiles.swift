import Glibc
import Synchronization
import TestSupport

@testable import SettingsClient

/// The files of this machine, of which each call can fail as a test says.
final class FaultyFiles: StateFileSystem {
    enum Call: String, CaseIterable, Sendable {
        case makeDirectory, list, open, lock, read, write, truncate, syncData, syncDirectory, rename, remove
    }

    /// A function that stands in a mutex by itself gets a layer each time it is looked at.
    private struct Fault {
        var code: @Sendable (Call, String) -> Int32? = { _, _ in nil }
    }

    private let machine = MachineFiles()
    private let fault = Mutex(Fault())
    /// Every call that was begun, and each `renamed`.
    let log = EventLog()

    /// The error that a call ends with, if it does.
    func fail(_ fault: @escaping @Sendable (Call, String) -> Int32?) {
        self.fault.withLock { $0.code = fault }
    }

    /// All calls of these kinds end with an error.
    func fail(_ calls: Call..., code: Int32 = ENOSPC) {
        fail { call, _ in calls.contains(call) ? code : nil }
    }

    func repair() {
        fail { _, _ in nil }
    }

    func makeDirectory(_ path: String) throws(StateFileError) -> Bool {
        try check(.makeDirectory, path)
        return try machine.makeDirectory(path)
    }

    func list(_ path: String) throws(StateFileError) -> [String] {
        try check(.list, path)
        return try machine.list(path)
    }

    func open(_ path: String, _ access: StateFileAccess) throws(StateFileError) -> Int32 {
        try check(.open, path)
        return try machine.open(path, access)
    }

    func close(_ descriptor: Int32) {
        machine.close(descriptor)
    }

    func lock(_ descriptor: Int32, _ path: String) throws(StateFileError) -> Bool {
        try check(.lock, path)
        return try machine.lock(descriptor, path)
    }

    func hasName(_ descriptor: Int32, _ path: String) throws(StateFileError) -> Bool {
        try machine.hasName(descriptor, path)
    }

    func read(_ descriptor: Int32, _ path: String) throws(StateFileError) -> [UInt8] {
        try check(.read, path)
        return try machine.read(descriptor, path)
    }

    func write(
        _ descriptor: Int32, _ path: String, _ bytes: Span<UInt8>, at offset: Int
    ) throws(StateFileError) -> Int {
        do throws(StateFileError) {
            try check(.write, path)
        } catch {
            // As a disk that gets full does: a part is there.
            _ = try machine.write(descriptor, path, bytes.extracting(0..<(bytes.count / 2)), at: offset)
            throw error
        }
        return try machine.write(descriptor, path, bytes, at: offset)
    }

    func truncate(_ descriptor: Int32, _ path: String, to size: Int) throws(StateFileError) {
        try check(.truncate, path)
        try machine.truncate(descriptor, path, to: size)
    }

    func syncData(_ descriptor: Int32, _ path: String) throws(StateFileError) {
        try check(.syncData, path)
        try machine.syncData(descriptor, path)
    }

    func syncDirectory(_ path: String) throws(StateFileError) {
        try check(.syncDirectory, path)
        try machine.syncDirectory(path)
    }

    func rename(_ path: String, to new: String) throws(StateFileError) {
        try check(.rename, path)
        try machine.rename(path, to: new)
        log.add("renamed")
    }

    func remove(_ path: String) throws(StateFileError) {
        try check(.remove, path)
        try machine.remove(path)
    }

    private func check(_ call: Call, _ path: String) throws(StateFileError) {
        defer { log.add(call.rawValue) }
        if let code = fault.withLock({ $0.code })(call, path) { throw StateFileError(path, code: code) }
    }
}
