internal import HTTPServer
internal import Platform
internal import SettingsAPI

/// A subscription that waits on one connection: a question, the place up to which it is answered, and a sink.
struct Subscription {
    enum Sink {
        /// One answer, which ends the subscription: a long poll, or a GET with `wait`.
        case response
        /// A stream of events.
        case stream(Phase)
    }

    /// A phase of a stream.
    enum Phase {
        /// The caller has been sent everything, and is sent what comes.
        case live
        /// The caller is sent what came before, in pieces, as it takes them.
        case catchingUp
        /// The next piece is being rendered beside the loop.
        case rendering
    }

    // In an order that leaves no gaps: there are as many of these as watchers.
    let topic: Topic
    /// The client that it counts for.
    let client: ClientCounts.Client
    /// The caller whose credential ends the subscription; nil without access control.
    let caller: Caller?
    /// The caller has had every matching commit up to here. May be ahead of the published state.
    var place: Revision
    let ticket: Ticket
    /// Its position among the members of its topic.
    var position: UInt32
    var form: Question.Form
    var sink: Sink
    /// True if it is in the queue of those to look at.
    var isDue = false
    /// True for a stream that ends once its caller has been sent everything that came before.
    var isEnding = false

    var question: Question { Question(topic.subject, form) }

    /// True if the caller has not yet been sent everything that came before.
    var isBehind: Bool {
        switch sink {
        case .response, .stream(.live): false
        case .stream: true
        }
    }

    /// Moves the place to a revision up to which all commits were matched: none of them matched one that is not due.
    /// So all of a topic have one place, and share one answer, whenever they came.
    mutating func advance(to matched: Revision) {
        if !isDue, !isBehind { place = max(place, matched) }
    }

    fileprivate mutating func apply(_ change: (inout Subscription) -> Void) {
        change(&self)
    }
}

/// A table of subscriptions by the slots of their connections. A connection has one at most: its further requests are not
/// taken before that is answered.
struct SubscriptionTable {
    private var slots: [Subscription?] = []
    private(set) var count = 0

    var tickets: [Ticket] { slots.compactMap { $0?.ticket } }

    subscript(ticket: Ticket) -> Subscription? {
        contains(ticket) ? slots[Int(ticket.slot)] : nil
    }

    mutating func insert(_ subscription: Subscription) {
        let slot = Int(subscription.ticket.slot)
        while slots.count <= slot { slots.append(nil) }
        assert(slots[slot] == nil, "a connection waits for two things at once")
        if slots[slot] == nil { count += 1 }
        slots[slot] = subscription
    }

    mutating func update(_ ticket: Ticket, _ change: (inout Subscription) -> Void) {
        if contains(ticket) { slots[Int(ticket.slot)]?.apply(change) }
    }

    /// Removes a subscription if it meets a condition.
    mutating func remove(_ ticket: Ticket, if condition: (borrowing Subscription) -> Bool) -> Subscription? {
        let slot = Int(ticket.slot)
        guard contains(ticket), let subscription = slots[slot].take() else { return nil }
        guard condition(subscription) else {
            slots[slot] = subscription
            return nil
        }
        count -= 1
        if count == 0 { slots = [] }
        return subscription
    }

    private func contains(_ ticket: Ticket) -> Bool {
        let slot = Int(ticket.slot)
        return slot < slots.count && slots[slot]?.ticket == ticket
    }
}
