import HTTPWire
internal import Platform

/// How long a connection may wait for what it waits for.
extension Connection {
    /// At the end of a turn.
    func renewDeadline(_ context: LoopContext) {
        let limits = context.limits
        if !unsent.isEmpty {
            // Moved whenever something was sent: see `flush`.
            if deadlineKind != .unread {
                deadlineKind = .unread
                setDeadline(context.now &+ limits.unreadTime, context)
            }
        } else if !owed.isEmpty {
            // The daemon is to blame for the wait, or the request asked for it.
            deadlineKind = .idle
            deadline = DeadlineWheel.never
        } else if let backlog, backlog.parser.hasBegun {
            if !backlog.parser.headIsComplete {
                guard deadlineKind != .head else { return }
                deadlineKind = .head
                setDeadline(context.now &+ limits.headTime, context)
            } else if deadlineKind != .body || backlog.bytes.count - progressMark >= limits.bodyProgress {
                deadlineKind = .body
                progressMark = backlog.bytes.count
                setDeadline(context.now &+ limits.bodyTime, context)
            }
        } else {
            deadlineKind = .idle
            setDeadline(context.now &+ limits.idleTime, context)
        }
    }

    func setDeadline(_ time: UInt64, _ context: LoopContext) {
        deadline = time
        if time / context.wheel.tick < filedTick {
            filedTick = context.wheel.file(name, at: time, now: context.now)
        }
    }

    /// The wheel has given this connection out, filed under `tick`.
    func check(_ tick: UInt64, _ context: LoopContext) {
        // Filed again since, for an earlier time than this.
        guard tick == filedTick else { return }
        filedTick = DeadlineWheel.never
        guard deadline != DeadlineWheel.never else { return }
        guard deadline <= context.now else { return setDeadline(deadline, context) }
        switch deadlineKind {
        case .idle, .linger: close(context)
        case .unread:
            socket.resetOnClose()
            close(context)
        case .head, .body:
            let bytes = backlog?.bytes ?? []
            reject(.tooSlow, backlog?.parser.head, bytes.span, context)
            proceed(context)
        }
    }
}
