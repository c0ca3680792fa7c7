internal import Dispatch
internal import HTTPServer
internal import HTTPWire
internal import SettingsAPI
internal import SettingsEngine
internal import SettingsModel
internal import SettingsStorage
internal import Synchronization

/// Renders backups for all event loops, one at a time, because a backup retains a whole state in memory. Thread-safe.
final class BackupMaker: Sendable {
    private let queue = DispatchQueue(label: "settingsd.backup", qos: .utility)
    private let isBusy = Atomic(false)

    /// Reserves the backup maker for one backup. Returns false while another backup is in progress.
    func reserveBackup() -> Bool {
        isBusy.compareExchange(expected: false, desired: true, ordering: .relaxed).exchanged
    }

    func releaseBackup() { isBusy.store(false, ordering: .relaxed) }

    /// Renders a backup in pieces on the backup queue, and calls `push` with each piece. Waits until the kernel has
    /// accepted a piece before it renders the next piece. `completion` gets false if the transfer was cancelled before
    /// the last piece, or if the kernel did not accept an earlier piece within 60 seconds because the client reads too
    /// slowly. Calls `push` and `completion` on the backup queue.
    func render(
        _ state: State, for backup: BackupTransfer, _ push: @escaping @Sendable ([UInt8]) -> Void,
        _ completion: @escaping @Sendable (_ isComplete: Bool) -> Void
    ) {
        queue.async {
            completion(
                SnapshotWriter.send(state, isCancelled: { backup.isCancelled }) { bytes in
                    // `bytes` may contain a value that is much longer than a piece.
                    for piece in bytes.chunks(of: BackupTransfer.maximumPieceBytes) where !backup.isCancelled {
                        push(Array(piece))
                        backup.waitUntilDrained()
                    }
                })
        }
    }
}

/// A backup that is being sent to a client. Thread-safe.
final class BackupTransfer: Sendable {
    static let maximumPieceBytes = 256 << 10
    /// The number of seconds in which the kernel must accept a piece.
    private static let pieceSeconds = 60

    /// Signalled when the kernel has accepted a piece, and when the transfer is cancelled.
    private let drained = DispatchSemaphore(value: 0)
    private let cancelled = Atomic(false)

    var isCancelled: Bool { cancelled.load(ordering: .relaxed) }

    /// Records that the kernel has accepted the current piece. Runs on the event loop.
    func pieceWasSent() { drained.signal() }

    /// Stops the transfer, unless the last piece is already being sent. Runs on the event loop.
    func cancel() {
        cancelled.store(true, ordering: .relaxed)
        drained.signal()
    }

    fileprivate func waitUntilDrained() {
        let end = DispatchTime.now() + .seconds(Self.pieceSeconds)
        if drained.wait(timeout: end) == .timedOut { cancelled.store(true, ordering: .relaxed) }
    }
}

extension APIHandler {
    /// Answers with a copy of all stored data in the format of a snapshot file. The copy is made from memory, because
    /// the disk may be full or failing. While the daemon refuses writes, a backup is still possible, except while the
    /// daemon stops.
    func backUp(_ request: APIRequest, _ exchange: Exchange) throws(Problem) -> Handling {
        let state = service.store.state
        // The cursor is valid only for the same `restrictedGrants`: the grants of a caller that may not read
        // everything.
        let cursor = state.cursor.withGrantsDigest(of: request.caller?.restrictedGrants)
        var head = Response(status: 200, contentType: .json, fields: FieldBlock(cursor: cursor, tag: nil))
        head.fields.append("Content-Disposition", text: "attachment; filename=\"settingsd-\(state.cursor).json\"")
        guard request.method != .head else { return .answer(head) }
        if let obstacle = service.obstacle(), obstacle.code == .shuttingDown { throw obstacle }
        guard service.backups.reserveBackup() else {
            throw Problem(.overloaded, retryAfterMs: 5000, "another backup is in progress; try again when it has ended")
        }
        let (id, mailbox, backup) = (exchange.ticket, mailbox, BackupTransfer())
        setWaiting(id, for: .backup(backup))
        beginStreamedResponse(id, head)
        service.backups.render(state, for: backup) { piece in
            mailbox.run { handler in
                handler.loop.push(id, piece, isLast: false)
                handler.loop.notifyWhenDrained(id)
            }
        } _: { isComplete in
            mailbox.run { $0.endBackup(id, isComplete: isComplete) }
        }
        return .laterBlockingNextRequest
    }

    private func endBackup(_ id: Ticket, isComplete: Bool) {
        guard case .backup? = requests[id], let entry = requests.remove(id) else { return }
        // Also releases the reservation of `reserveBackup()`.
        release(entry.request, id)
        // Without the terminating chunk, a client treats the body as incomplete.
        if isComplete { loop.push(id, [], isLast: true) } else { loop.abort(id) }
    }
}
