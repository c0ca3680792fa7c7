import Foundation
import Synchronization

/// The daemon as a process of its own, as an operator starts it.
final class DaemonProcess: Sendable {
    /// It did not start or end in time; with what it said.
    struct Failed: Error, CustomStringConvertible {
        let description: String
    }

    /// What it has said on standard error so far.
    private final class Words: Sendable {
        let text = Mutex("")
        /// Signalled when it has said where it listens, and when it has said all.
        let news = DispatchSemaphore(value: 0)

        /// The port of the line that tells it.
        var port: UInt16? {
            let marker = "listening on http://127.0.0.1:"
            let text = text.withLock { $0 }
            guard let place = text.range(of: marker), text[place.upperBound...].contains("\n") else { return nil }
            return UInt16(text[place.upperBound...].prefix { $0.isNumber })
        }
    }

    private static let bound = 20

    let port: UInt16
    private let process: Process
    private let words = Words()
    private let ended = DispatchSemaphore(value: 0)

    /// Starts it on a data directory, and waits until it listens.
    init(data: String) throws {
        let process = Process()
        let (words, ended) = (words, ended)
        process.executableURL = try Self.executable()
        process.arguments = ["--listen", "127.0.0.1:0", "--data", data]
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = FileHandle.nullDevice
        let errors = Pipe()
        process.standardError = errors
        errors.fileHandleForReading.readabilityHandler = { handle in
            let data = handle.availableData
            if data.isEmpty { handle.readabilityHandler = nil }
            let wasListening = words.port != nil
            words.text.withLock { $0 += String(decoding: data, as: UTF8.self) }
            if data.isEmpty || (!wasListening && words.port != nil) { words.news.signal() }
        }
        process.terminationHandler = { _ in ended.signal() }
        try process.run()
        self.process = process
        _ = words.news.wait(timeout: .now() + .seconds(Self.bound))
        guard let port = words.port else {
            kill(process.processIdentifier, SIGKILL)
            throw Failed(description: "the daemon does not listen; it said: \(words.text.withLock { $0 })")
        }
        self.port = port
    }

    deinit {
        if process.isRunning { kill(process.processIdentifier, SIGKILL) }
    }

    /// Ends it without any warning, and waits until it is gone.
    func killAtOnce() throws {
        kill(process.processIdentifier, SIGKILL)
        guard ended.wait(timeout: .now() + .seconds(Self.bound)) == .success else {
            throw Failed(description: "the daemon does not end")
        }
        guard process.terminationReason == .uncaughtSignal, process.terminationStatus == SIGKILL else {
            throw Failed(description: "the daemon had ended by itself; it said: \(words.text.withLock { $0 })")
        }
    }

    /// The program that was built along with the tests, in the directory of their bundle.
    private static func executable() throws -> URL {
        let tests = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        let bundles = CommandLine.arguments.filter { $0.hasSuffix(".xctest") } + [tests]
        for bundle in bundles {
            let program = URL(fileURLWithPath: bundle).deletingLastPathComponent().appendingPathComponent("settingsd")
            if FileManager.default.isExecutableFile(atPath: program.path) { return program }
        }
        throw Failed(description: "there is no settingsd beside \(bundles.joined(separator: ", "))")
    }
}
