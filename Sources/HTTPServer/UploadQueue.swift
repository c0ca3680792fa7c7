internal import Platform
internal import Synchronization

/// Admits large request bodies before they are received, so that bodies in transit cannot take the memory that is needed to parse them.
///
/// All admitted bodies together take at most an eighth of the memory budget. The bodies of one client take at most half of that, unless the client
/// has only one. A body that is not admitted waits in a queue, which serves clients round-robin; its connection is not read meanwhile.
///
/// The queue holds identifiers of connections, not references, so that a closed connection is released at once.
///
/// Thread-safe.
final class UploadQueue: Sendable {
    /// Identifies a connection.
    struct ConnectionID: Hashable, Sendable {
        let loop: Int
        let name: UInt64
    }

    private struct Waiting: Sendable {
        let connection: ConnectionID
        let bytes: Int
    }

    private struct Contents: Sendable {
        var waiting = FairQueue<ClientKey, Waiting>()
        var admittedBytes = 0
        var admittedByClient: [ClientKey: Int] = [:]
        /// True if the first body of the queue waits because the memory budget is exhausted.
        var awaitsBudget = false

        /// The body that is admitted next.
        func next(within share: Int) -> (caller: ClientKey, element: Waiting)? {
            // A body that is larger than the share takes all of it.
            waiting.first { allows(min($1.bytes, share), from: $0, within: share) }
        }

        /// True if a client may have another body admitted.
        func allows(_ bytes: Int, from client: ClientKey, within share: Int) -> Bool {
            guard let admitted = admittedByClient[client] else { return true }
            return admitted + bytes <= share / 2
        }
    }

    private let budget: MemoryBudget
    private let contents = Mutex(Contents())

    init(_ budget: MemoryBudget) {
        self.budget = budget
    }

    /// The bytes that all admitted bodies together may take.
    private var share: Int { budget.capacity / 8 }

    /// True if a body waits to be admitted.
    var hasWaiting: Bool { contents.withLock { !$0.waiting.isEmpty } }

    /// Admits a body at once if no other body waits that would be admitted first.
    func admit(_ bytes: Int, from client: ClientKey) -> Upload? {
        contents.withLock { contents in
            let bytes = min(bytes, share)
            guard contents.next(within: share) == nil, contents.allows(bytes, from: client, within: share) else {
                return nil
            }
            return admit(bytes, from: client, &contents)
        }
    }

    /// Queues a body. ``admitNext(on:)`` returns its connection once the body is admitted.
    func append(_ bytes: Int, from client: ClientKey, on connection: ConnectionID) {
        contents.withLock { $0.waiting.append(Waiting(connection: connection, bytes: bytes), for: client) }
    }

    /// Removes the body of a connection from the queue.
    func remove(_ connection: ConnectionID, of client: ClientKey) {
        contents.withLock { contents in
            contents.waiting.remove(of: client) { $0.connection == connection }
            updateShortage(&contents, awaitsBudget: contents.awaitsBudget && !contents.waiting.isEmpty)
        }
    }

    /// Admits the next body if it fits and its connection belongs to an event loop.
    func admitNext(on loop: Int) -> (connection: ConnectionID, upload: Upload)? {
        contents.withLock { contents in
            let share = share
            guard let (client, body) = contents.next(within: share), body.connection.loop == loop,
                contents.admittedBytes + min(body.bytes, share) <= share
            else { return nil }
            let upload = admit(min(body.bytes, share), from: client, &contents)
            updateShortage(&contents, awaitsBudget: upload == nil)
            guard let upload else { return nil }
            _ = contents.waiting.popFirst(of: client)
            return (body.connection, upload)
        }
    }

    private func admit(_ bytes: Int, from client: ClientKey, _ contents: inout Contents) -> Upload? {
        guard contents.admittedBytes + bytes <= share, let reservation = budget.reserve(bytes) else { return nil }
        contents.admittedBytes += bytes
        contents.admittedByClient[client, default: 0] += bytes
        return Upload(bytes: bytes, reservation, of: client, in: self)
    }

    private func updateShortage(_ contents: inout Contents, awaitsBudget: Bool) {
        guard contents.awaitsBudget != awaitsBudget else { return }
        contents.awaitsBudget = awaitsBudget
        if awaitsBudget { budget.beginWaiting() } else { budget.endWaiting() }
    }

    fileprivate func release(_ bytes: Int, of client: ClientKey) {
        contents.withLock { contents in
            contents.admittedBytes -= bytes
            let left = (contents.admittedByClient[client] ?? 0) - bytes
            contents.admittedByClient[client] = left > 0 ? left : nil
        }
    }
}

/// The memory of an admitted body, until the object is deallocated.
final class Upload: Sendable {
    let reservation: MemoryBudget.Reservation
    /// The bytes that the body was admitted with.
    let bytes: Int
    private let client: ClientKey
    private let queue: UploadQueue

    fileprivate init(
        bytes: Int, _ reservation: MemoryBudget.Reservation, of client: ClientKey, in queue: UploadQueue
    ) {
        self.bytes = bytes
        self.reservation = reservation
        self.client = client
        self.queue = queue
    }

    deinit {
        queue.release(bytes, of: client)
    }
}
