internal import Platform
internal import Synchronization

/// Admits large request bodies before they are received, so that memory remains for parsing them.
///
/// All admitted bodies together may use the share of the queue: an eighth of the capacity of the memory budget. The
/// bodies of one client may use half of the share; a single body of a client may use the whole share. A body that is
/// not admitted waits in the queue, which serves clients round-robin. While a body waits, the event loop does not read
/// from its connection.
///
/// The queue contains no references to connections, so that a closed connection is released at once. Thread-safe.
final class UploadQueue: Sendable {
    /// Identifies a connection of any event loop.
    struct ConnectionID: Hashable, Sendable {
        /// `EventLoop.index`.
        let loop: Int
        /// `Connection.identifier`.
        let identifier: UInt64
    }

    private struct WaitingBody: Sendable {
        let connection: ConnectionID
        let bytes: Int
    }

    private struct Contents: Sendable {
        var waiting = FairQueue<ClientKey, WaitingBody>()
        /// The position of the body of each connection in `waiting`.
        var positions: [ConnectionID: FairQueue<ClientKey, WaitingBody>.Position] = [:]
        var admittedBytes = 0
        var admittedBytesByClient: [ClientKey: Int] = [:]
        /// True if the first body of the queue waits because the memory budget is exhausted.
        var awaitsBudget = false

        /// Returns the next body to admit with its client. Returns nil if no body waits, or if the first
        /// body of every client would exceed the client's half of the share.
        func nextBody(within share: Int) -> (client: ClientKey, element: WaitingBody)? {
            // A body that is larger than the share is admitted with a reservation of the whole share.
            waiting.first { allows(min($1.bytes, share), from: $0, within: share) }
        }

        func allows(_ bytes: Int, from client: ClientKey, within share: Int) -> Bool {
            guard let admitted = admittedBytesByClient[client] else { return true }
            return admitted + bytes <= share / 2
        }
    }

    private let budget: MemoryBudget
    private let contents = Mutex(Contents())

    init(_ budget: MemoryBudget) {
        self.budget = budget
    }

    private var share: Int { budget.capacity / 8 }

    var hasWaitingBodies: Bool { contents.withLock { !$0.waiting.isEmpty } }

    /// Admits a body at once. Returns nil if the body must wait for memory, for the end of other bodies of its client,
    /// or for the admission of earlier bodies.
    func admit(_ bytes: Int, from client: ClientKey) -> Upload? {
        contents.withLock { contents in
            let bytes = min(bytes, share)
            guard contents.nextBody(within: share) == nil, contents.allows(bytes, from: client, within: share)
            else { return nil }
            return admit(bytes, from: client, &contents)
        }
    }

    /// Appends a body to the queue. ``admitNext(on:)`` returns its connection when the body is admitted.
    func append(_ bytes: Int, from client: ClientKey, on connection: ConnectionID) {
        contents.withLock { contents in
            let body = WaitingBody(connection: connection, bytes: bytes)
            contents.positions[connection] = contents.waiting.append(body, for: client)
        }
    }

    /// Removes the body of a connection from the queue.
    func remove(_ connection: ConnectionID, of client: ClientKey) {
        contents.withLock { contents in
            guard let position = contents.positions.removeValue(forKey: connection) else { return }
            contents.waiting.remove(at: position, of: client)
            updateShortage(&contents, awaitsBudget: contents.awaitsBudget && !contents.waiting.isEmpty)
        }
    }

    /// Admits the next body if there is memory for it and its connection belongs to the event loop with this index.
    func admitNext(on loop: Int) -> (connection: ConnectionID, upload: Upload)? {
        contents.withLock { contents in
            let share = share
            guard let (client, body) = contents.nextBody(within: share), body.connection.loop == loop,
                contents.admittedBytes + min(body.bytes, share) <= share
            else { return nil }
            let upload = admit(min(body.bytes, share), from: client, &contents)
            updateShortage(&contents, awaitsBudget: upload == nil)
            guard let upload else { return nil }
            _ = contents.waiting.popFirst(of: client)
            contents.positions[body.connection] = nil
            return (body.connection, upload)
        }
    }

    private func admit(_ bytes: Int, from client: ClientKey, _ contents: inout Contents) -> Upload? {
        guard contents.admittedBytes + bytes <= share, let reservation = budget.reserve(bytes) else { return nil }
        contents.admittedBytes += bytes
        contents.admittedBytesByClient[client, default: 0] += bytes
        return Upload(bytes: bytes, reservation, of: client, in: self)
    }

    /// Tells the memory budget whether a body waits because the budget is exhausted.
    private func updateShortage(_ contents: inout Contents, awaitsBudget: Bool) {
        guard contents.awaitsBudget != awaitsBudget else { return }
        contents.awaitsBudget = awaitsBudget
        if awaitsBudget { budget.beginWaiting() } else { budget.endWaiting() }
    }

    fileprivate func release(_ bytes: Int, of client: ClientKey) {
        contents.withLock { contents in
            contents.admittedBytes -= bytes
            let remaining = (contents.admittedBytesByClient[client] ?? 0) - bytes
            contents.admittedBytesByClient[client] = remaining > 0 ? remaining : nil
        }
    }
}

/// The admission of a large body. Its memory returns to the `UploadQueue` when the object is deallocated. Thread-safe.
final class Upload: Sendable {
    let reservation: MemoryBudget.Reservation
    /// The number of bytes that were reserved when the body was admitted.
    let bytes: Int
    private let client: ClientKey
    private let queue: UploadQueue

    fileprivate init(bytes: Int, _ reservation: MemoryBudget.Reservation, of client: ClientKey, in queue: UploadQueue) {
        self.bytes = bytes
        self.reservation = reservation
        self.client = client
        self.queue = queue
    }

    deinit {
        queue.release(bytes, of: client)
    }
}
