import Dispatch
import Foundation
import Synchronization

/// Runs clients at the same time, each on a thread of its own.
enum ConcurrentClients {
    /// What all of them did, client by client; the first error if one of them failed.
    static func run<Made: Sendable>(
        _ count: Int, _ body: @escaping @Sendable (Int) throws -> [Made]
    ) async throws -> [Made] {
        let ends = Ends<Made>()
        let running = DispatchGroup()
        for client in 0..<count {
            running.enter()
            Thread.detachNewThread {
                let end = Result { try body(client) }
                ends.all.withLock { $0[client] = end }
                running.leave()
            }
        }
        await withCheckedContinuation { continuation in
            running.notify(queue: .global()) { continuation.resume() }
        }
        return try ends.all.withLock { $0 }.sorted { $0.key < $1.key }.flatMap { try $0.value.get() }
    }

    private final class Ends<Made: Sendable>: Sendable {
        let all = Mutex<[Int: Result<[Made], any Error>]>([:])
    }
}
