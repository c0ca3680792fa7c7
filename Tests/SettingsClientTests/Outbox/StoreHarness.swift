import Foundation
import SettingsModel
import TestSupport
import Testing

@testable import SettingsClient

/// A directory for outbox files, and the server and suite to which the files belong.
struct StoreHarness {
    let samples: SampleWrites
    let files = FaultyFiles()
    private let directory: TemporaryDirectory
    /// The directory of the outbox files. Only its ancestor `home` exists at first.
    var path: String { home + "/state/outbox/server/app" }
    var home: String { directory.path }

    init() throws {
        samples = try SampleWrites()
        directory = try TemporaryDirectory()
    }

    /// Returns a store, as a program would create it.
    func store(_ limits: OutboxStore.Limits = .init(), owner: FileOwner? = nil) -> OutboxStore {
        OutboxStore(in: path, of: owner ?? samples.owner, files: files, limits: limits)
    }

    /// Releases a store, and waits until no outbox file below `home` is locked, so no other store may be open. Returns
    /// false after `Deadline.patience` seconds.
    func close(_ store: inout OutboxStore?) -> Bool {
        store = nil
        return LockedOutboxFiles(directory: home).waits { $0 == 0 }
    }

    /// Adopts the writes of ended programs. The store must not be nil. The parameter is an optional because tests keep
    /// the store in an optional, which `close(_:)` sets to nil.
    func adoptAbandonedWrites(_ store: inout OutboxStore?) throws -> OutboxStore.AbandonedWrites {
        let found = store?.adoptAbandonedWrites()
        return try #require(found)
    }

    /// The names of the files in the directory, in order.
    var names: [String] {
        ((try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []).sorted()
    }

    /// The path of the draft of an outbox file, if there is a draft.
    var draft: String? {
        names.first { $0.hasSuffix(".outbox.new") }.map { "\(path)/\($0)" }
    }

    func bytes(_ name: String) throws -> [UInt8] {
        Array(try Data(contentsOf: URL(filePath: "\(path)/\(name)")))
    }

    func write(_ bytes: [UInt8], to name: String) throws {
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        try Data(bytes).write(to: URL(filePath: "\(path)/\(name)"))
    }

    /// Removes all writes and returns them in order.
    func drain(_ store: inout OutboxStore) -> [PendingChange] {
        var writes: [PendingChange] = []
        while let first = store.first {
            writes.append(first.change)
            store.removeFirst()
        }
        return writes
    }
}

extension OutboxStore {
    /// Appends a write with the next number.
    mutating func add(_ change: PendingChange) throws {
        try append(change, number: nextNumber)
    }

    /// Adopts the writes of programs that have ended, as a session does.
    mutating func adoptAbandonedWrites() -> AbandonedWrites {
        var abandoned = collectAbandonedWrites()
        let firstNumber = nextNumber
        abandoned.problems += adopt(
            abandoned.writes.enumerated().map { (number: firstNumber + Int64($0.offset), change: $0.element) })
        return abandoned
    }

    private var nextNumber: Int64 { (last?.number ?? 0) + 1 }
}
