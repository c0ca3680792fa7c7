package import HTTPServer
internal import SettingsAPI

/// Handles events of unfinished requests, such as a closed connection. Each function has a case for each request kind.
/// A ticket is the identifier of an unanswered request on its event loop. A `serverOperation` is a request that waits
/// for another part of the daemon, for example for a reload of the configuration. A `revisionWait` is a request that
/// waits until a commit is published. A wait for convergence is a request that waits until clients have applied a
/// state.
extension APIHandler {
    /// Handles the close of the connection of an unfinished request.
    package func closed(_ id: Ticket) {
        guard let request = requests[id] else { return }
        switch request {
        case .write(let write) where write.takesEffectAfterClose:
            // The entry remains, because the write is still completed and audited.
            requests.update(id) { entry in
                logClosed(&entry)
                entry.isConnected = false
            }
        case .write, .backgroundWork, .serverOperation, .revisionWait, .watcher, .stream, .convergence, .backup:
            guard var entry = requests.remove(id) else { return }
            logClosed(&entry)
            release(entry.request, id)
            requests.releaseUnusedMemory()
        }
    }

    /// Ends a wait at its deadline, evaluates a wait for convergence, or sends the next keep-alive of an event stream.
    /// Other requests have no alarm.
    package func alarm(_ id: Ticket) {
        guard let entry = requests.entry(id) else { return }
        switch entry.request {
        case .revisionWait(let wait): endWait(id, wait, of: entry.caller)
        case .watcher(let watcher), .stream(let watcher):
            // The alarm may be for the expiry of the credential. `isStream` is true only in the case `stream`.
            guard isAdmitted(entry.caller) else { return notifier.endUnauthorized(watcher) }
            if watcher.isStream { notifier.sendKeepAlive(to: watcher) } else { notifier.endWait(of: watcher) }
        case .convergence(let wait): checkConvergence(wait, id, of: entry.caller)
        case .write, .backgroundWork, .serverOperation, .backup: break
        }
    }

    /// Ends the waiting requests and streams whose credentials are no longer valid. Checks a limited number of requests
    /// in each event loop iteration. Writes, background work, operations of other parts of the daemon, and backups
    /// continue, because they were admitted before.
    func endRevokedRequests() { endRevokedRequests(among: requests.ids[...]) }

    /// The maximum number of credentials to check in one loop iteration. A check takes microseconds.
    private static let credentialsPerIteration = 512

    private func endRevokedRequests(among ids: ArraySlice<Ticket>) {
        for id in ids.prefix(Self.credentialsPerIteration) {
            guard let entry = requests.entry(id) else { continue }
            switch entry.request {
            case .revisionWait(let wait):
                if !isAdmitted(entry.caller) { endWait(id, wait, of: entry.caller) }
            case .watcher(let watcher), .stream(let watcher):
                if !isAdmitted(entry.caller) { notifier.endUnauthorized(watcher) }
            case .convergence:
                if !isAdmitted(entry.caller) { endUnauthorized(id) }
            case .write, .backgroundWork, .serverOperation, .backup: break
            }
        }
        let remaining = ids.dropFirst(Self.credentialsPerIteration)
        if !remaining.isEmpty { runLater { $0.endRevokedRequests(among: remaining) } }
    }

    /// Handles the stop of the daemon: answers all waiting requests, such as long polls, ends the event streams, and
    /// aborts the backups. No further request may wait.
    package func stopping() {
        isStopping = true
        for id in requests.ids {
            guard let entry = requests.entry(id) else { continue }
            switch entry.request {
            case .revisionWait(let wait): endWait(id, wait, of: entry.caller)
            case .watcher(let watcher): notifier.endWait(of: watcher)
            case .stream(let watcher): notifier.endStream(watcher)
            case .convergence(let wait): endConvergence(wait, id, of: entry.caller)
            case .backup: loop.abort(id)
            case .write, .backgroundWork, .serverOperation: break
            }
        }
    }

    /// Handles a half-close: the client has closed its sending direction, but may still read. Answers a waiting
    /// request, and ends an event stream. Other requests continue.
    package func peerHalfClosed(_ id: Ticket) {
        guard let entry = requests.entry(id) else { return }
        switch entry.request {
        case .revisionWait(let wait): endWait(id, wait, of: entry.caller)
        case .watcher(let watcher): notifier.endWait(of: watcher)
        case .stream(let watcher): notifier.endStream(watcher)
        case .convergence(let wait): endConvergence(wait, id, of: entry.caller)
        case .write, .backgroundWork, .serverOperation, .backup: break
        }
    }

    /// Sends the next piece of a response, because the kernel has accepted all bytes of the previous pieces.
    package func drained(_ id: Ticket) {
        switch requests[id] {
        case .stream(let watcher): notifier.sendNextPiece(to: watcher)
        case .backup(let backup): backup.pieceWasSent()
        case .write, .backgroundWork, .serverOperation, .revisionWait, .watcher, .convergence, nil: break
        }
    }

    /// Releases the resources of a request that leaves the table or begins to wait for something else. Clearing
    /// `preparationFlag` cancels the background work that prepares a write. The watcher limits also count revision
    /// waits and waits for convergence.
    func release(_ request: UnfinishedRequest, _ id: Ticket) {
        switch request {
        case .write(let write): write.preparationFlag?.clear()
        case .backgroundWork(let key): backgroundAnswers.remove(id, from: key)
        case .serverOperation: break
        case .revisionWait(let wait):
            revisionQueue.remove(id)
            service.watchers.remove(wait.client)
        case .watcher(let watcher), .stream(let watcher): notifier.unregister(watcher)
        case .convergence(let wait): if let client = wait.client { service.watchers.remove(client) }
        case .backup(let backup):
            backup.cancel()
            service.backups.releaseBackup()
        }
    }
}
