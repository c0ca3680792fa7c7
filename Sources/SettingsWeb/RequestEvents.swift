package import HTTPServer
internal import SettingsAPI

/// The events that concern unfinished requests, other than their answers. Each function has one case for each kind of
/// request.
extension APIHandler {
    /// The connection of a request has closed.
    package func closed(_ id: Ticket) {
        guard let request = requests[id] else { return }
        switch request {
        case .write(let write) where write.takesEffectAfterClose:
            // The result of the write is audited, and a write that is done in part is completed.
            requests.update(id) { entry in
                logClosed(&entry)
                entry.isConnected = false
            }
        case .write, .backgroundWork, .serviceCall, .revisionWait, .watcher, .stream, .backup:
            guard var entry = requests.remove(id) else { return }
            logClosed(&entry)
            release(entry.request, id)
            requests.releaseUnusedMemory()
        }
    }

    /// The deadline of a request has passed. Work that ends by itself has no deadline.
    package func alarm(_ id: Ticket) {
        guard let entry = requests.entry(id) else { return }
        switch entry.request {
        case .revisionWait(let wait): endWait(id, wait, of: entry.caller)
        case .watcher(let watcher), .stream(let watcher):
            // The deadline may be the expiry of the credential.
            guard isAdmitted(entry.caller) else { return notifier.expel(watcher) }
            if watcher.isStream { notifier.sendKeepAlive(to: watcher) } else { notifier.endWait(of: watcher) }
        case .write, .backgroundWork, .serviceCall, .backup: break
        }
    }

    /// Ends the requests that wait for an event and whose credentials are revoked, in several loop iterations. Writes
    /// and work in the background were admitted and are answered.
    func endRevokedRequests() { endRevokedRequests(among: requests.ids[...]) }

    /// Checking a credential takes microseconds.
    private static let credentialsPerIteration = 512

    private func endRevokedRequests(among ids: ArraySlice<Ticket>) {
        for id in ids.prefix(Self.credentialsPerIteration) {
            guard let entry = requests.entry(id) else { continue }
            switch entry.request {
            case .revisionWait(let wait):
                if !isAdmitted(entry.caller) { endWait(id, wait, of: entry.caller) }
            case .watcher(let watcher), .stream(let watcher):
                if !isAdmitted(entry.caller) { notifier.expel(watcher) }
            case .write, .backgroundWork, .serviceCall, .backup: break
            }
        }
        let remaining = ids.dropFirst(Self.credentialsPerIteration)
        if !remaining.isEmpty { runLater { $0.endRevokedRequests(among: remaining) } }
    }

    /// The daemon stops. Requests that wait for an event are answered, and no request waits for an event from now on.
    package func stopping() {
        isStopping = true
        for id in requests.ids {
            guard let entry = requests.entry(id) else { continue }
            switch entry.request {
            case .revisionWait(let wait): endWait(id, wait, of: entry.caller)
            case .watcher(let watcher): notifier.endWait(of: watcher)
            case .stream(let watcher): notifier.end(watcher)
            case .backup: loop.abort(id)
            case .write, .backgroundWork, .serviceCall: break
            }
        }
    }

    /// The client sends nothing more, but may still read. A client that waits for an event gets its answer now.
    package func peerHalfClosed(_ id: Ticket) {
        guard let entry = requests.entry(id) else { return }
        switch entry.request {
        case .revisionWait(let wait): endWait(id, wait, of: entry.caller)
        case .watcher(let watcher): notifier.endWait(of: watcher)
        case .stream(let watcher): notifier.end(watcher)
        case .write, .backgroundWork, .serviceCall, .backup: break
        }
    }

    /// The kernel has accepted all bytes of a response that is sent in pieces.
    package func drained(_ id: Ticket) {
        switch requests[id] {
        case .stream(let watcher): notifier.sendNextPiece(to: watcher)
        case .backup(let backup): backup.pieceWasSent()
        case .write, .backgroundWork, .serviceCall, .revisionWait, .watcher, nil: break
        }
    }

    /// Releases what a request has reserved, when it leaves the table or waits for something else.
    func release(_ request: UnfinishedRequest, _ id: Ticket) {
        switch request {
        case .write(let write): write.isWanted?.clear()
        case .backgroundWork(let key): backgroundAnswers.remove(id, from: key)
        case .serviceCall: break
        case .revisionWait(let wait):
            revisionQueue.remove(id)
            service.watchers.remove(wait.client)
        case .watcher(let watcher), .stream(let watcher): notifier.unregister(watcher)
        case .backup(let backup):
            backup.abandon()
            service.backups.releaseBackup()
        }
    }
}
