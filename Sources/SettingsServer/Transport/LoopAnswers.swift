package import HTTPWire
internal import Platform

/// What handlers do with the answers that they owe. All of it on the loop; all of it ignored if the answer is
/// complete, or its connection gone.
extension EventLoop {
    /// The answer to a request that was to be answered `.later`. It is sent when the batch ends and all requests
    /// before it are answered.
    package func respond(_ ticket: Ticket, _ response: Response) {
        guard let (connection, context) = find(ticket) else { return }
        _ = connection.respond(ticket, response, isStream: false, context)
        scheduleBatchEnd()
    }

    /// As `respond`, but the body of the response is only its beginning. The rest comes with `push`.
    ///
    /// - Returns: whether there is anything to push: not to HEAD, which is answered with this, nor to a peer that is
    ///   gone.
    @discardableResult
    package func begin(_ ticket: Ticket, _ response: Response) -> Bool {
        guard let (connection, context) = find(ticket) else { return false }
        defer { scheduleBatchEnd() }
        return connection.respond(ticket, response, isStream: true, context)
    }

    /// More of a body that was begun, and its end if `isLast`.
    ///
    /// A peer that does not keep up is closed, of which the handler hears as of any other end
    /// (`RequestHandler.closed`): that is one with more than `TransportLimits.streamBytes` waiting for `streamTime`, or
    /// with more than `mostStreamBytes`, of what was pushed while something waited already. What comes while nothing
    /// waits, and in the same batch as that, is not counted, however long it is.
    ///
    /// - Returns: how many bytes of the stream the kernel has not taken. The piece is among them, as it is sent when
    ///   the batch ends; an empty piece, which sends nothing, asks how many there are from before.
    @discardableResult
    package func push(_ ticket: Ticket, _ piece: Span<UInt8>, isLast: Bool = false) -> Int {
        guard let (connection, context) = find(ticket) else { return 0 }
        defer { scheduleBatchEnd() }
        return connection.push(ticket, piece, isLast: isLast, context)
    }

    /// Asks for `RequestHandler.drained`, once, when the kernel has taken all that was pushed of a stream until then;
    /// in a later batch, also if it has by now. Asking again before that changes nothing. Of a stream that has ended
    /// nobody hears.
    package func whenDrained(_ ticket: Ticket) {
        guard let (connection, context) = find(ticket) else { return }
        connection.whenDrained(ticket, context)
        scheduleBatchEnd()
    }

    /// Asks for `RequestHandler.alarm`, once, when it is that time of `now`. An owed answer has one alarm: a later
    /// call moves it, `UInt64.max` takes it away. One that is begun as a stream keeps its alarm.
    package func setAlarm(_ ticket: Ticket, at deadline: UInt64) {
        guard let (connection, context) = find(ticket) else { return }
        connection.setAlarm(ticket, at: deadline, context)
        scheduleBatchEnd()
    }

    /// On the loop: what became of the peer of an answer that is owed, for whoever has not looked for a while.
    package func peer(of ticket: Ticket) -> PeerStanding {
        guard let (connection, context) = find(ticket), connection.position(ticket, context) != nil else {
            return .gone
        }
        return connection.peerEnded ? .ended : .there
    }
}

/// What became of a peer.
package enum PeerStanding: Hashable, Sendable {
    case there
    /// It sends nothing more, but may still read.
    case ended
    /// It is gone, or was answered.
    case gone
}
