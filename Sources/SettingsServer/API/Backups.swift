internal import Dispatch
internal import HTTPWire
package import Platform
internal import SettingsAPI
package import SettingsEngine
internal import SettingsModel
internal import Synchronization

/// A maker of backups for all loops: one at a time, as each takes a file as large as all that is stored.
package final class BackupMaker: Sendable {
    /// Writes a state into a file that has no name any more. Throws if there is no room for it, say.
    private let write: @Sendable (State) throws(FileError) -> OpenFile
    private let queue = DispatchQueue(label: "settingsd.backup", qos: .utility)
    private let isBusy = Atomic(false)

    package init(_ write: @escaping @Sendable (State) throws(FileError) -> OpenFile) {
        self.write = write
    }

    /// Begins a backup. Returns false while another one is made or sent.
    func begin() -> Bool {
        isBusy.compareExchange(expected: false, desired: true, ordering: .relaxed).exchanged
    }

    func end() {
        isBusy.store(false, ordering: .relaxed)
    }

    /// Writes the file, on a queue of its own.
    func make(of state: State, _ completion: @escaping @Sendable (Result<OpenFile, FileError>) -> Void) {
        queue.async { [write] in
            do throws(FileError) {
                completion(.success(try write(state)))
            } catch {
                completion(.failure(error))
            }
        }
    }

    /// Reads the piece at an offset, on a queue of its own: the disk may have to be waited for.
    func read(_ file: OpenFile, at offset: Int, _ completion: @escaping @Sendable (Result<[UInt8], FileError>) -> Void)
    {
        queue.async {
            var piece = [UInt8](repeating: 0, count: 256 << 10)
            do throws(FileError) {
                let count = try file.read(at: offset, into: &piece)
                piece.removeSubrange(count...)
                completion(.success(piece))
            } catch {
                completion(.failure(error))
            }
        }
    }
}

/// A backup on its way to a caller.
struct SentBackup {
    let file: OpenFile
    var offset = 0
}

extension APIHandler {
    /// Answers with a consistent copy of all that is stored, in the format of a snapshot. It is written to a file first, so
    /// that a slow caller keeps nothing in memory.
    func backUp(_ method: Method, _ exchange: Exchange, on state: State) throws(Problem) -> Handling {
        var head = Response(status: 200, contentType: .json, fields: FieldBlock(cursor: state.cursor, tag: nil))
        head.fields.append(
            "Content-Disposition", text: "attachment; filename=\"settingsd-\(state.cursor).json\"")
        guard method != .head else { return .answer(head) }
        guard service.backups.begin() else {
            throw Problem(
                .overloaded, retryAfterMs: 5000, "another backup is being taken; try again when that is done")
        }
        let (ticket, mailbox, cursor) = (exchange.ticket, mailbox, state.cursor)
        service.backups.make(of: state) { [head] result in
            mailbox.run { handler in
                switch result {
                case .success(let file):
                    guard handler.begin(ticket, head) else { return handler.service.backups.end() }
                    handler.backups[ticket] = SentBackup(file: file)
                    handler.sendBackup(ticket)
                case .failure(let error):
                    handler.service.backups.end()
                    let code: ErrorCode = error.isFull ? .insufficientStorage : .storageFailed
                    let problem = Problem(code, "cannot write the backup before it is sent: \(error.reason)")
                    handler.answer(ticket, Response(problem, cursor: cursor))
                }
            }
        }
        return .laterAlone
    }

    /// Sends the next piece of a backup, once the kernel has taken the one before.
    func sendBackup(_ ticket: Ticket) {
        guard let backup = backups[ticket] else { return }
        let mailbox = mailbox
        service.backups.read(backup.file, at: backup.offset) { result in
            mailbox.run { handler in
                guard handler.backups[ticket] != nil else { return }
                switch result {
                case .success(let piece):
                    handler.backups[ticket]?.offset += piece.count
                    handler.loop.push(ticket, piece, isLast: piece.isEmpty)
                    if piece.isEmpty { handler.endBackup(ticket) } else { handler.loop.whenDrained(ticket) }
                case .failure:
                    // Without its end, no client takes the body for whole.
                    handler.endBackup(ticket)
                    handler.loop.abort(ticket)
                }
            }
        }
    }

    /// Forgets a backup that was sent, or whose caller is gone.
    func endBackup(_ ticket: Ticket) {
        if backups.removeValue(forKey: ticket) != nil { service.backups.end() }
    }

    /// Breaks off the backups that are being sent, as the daemon stops.
    func abortBackups() {
        for ticket in backups.keys {
            endBackup(ticket)
            loop.abort(ticket)
        }
    }
}
