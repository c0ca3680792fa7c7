internal import Dispatch
internal import Synchronization

/// The policies that a reload replaces, all at once.
package struct Policies: Sendable {
    package var hosts = HostPolicy()
    /// Nil without access control.
    package var access: AccessPolicy?
    package var proxies = TrustedProxies()
    package var logging = RequestLogging()
    /// True if the page for people is served.
    package var servesPage = true
    /// Nil if callers may send as much as they like.
    package var rate: RequestRate?

    package init() {}
}

/// A board with the policies in force. Each loop has a copy, so that a request takes no lock.
package final class PolicyBoard: Sendable {
    private let posted: Mutex<(policies: Policies, loops: [LoopMailbox])>

    package init(_ policies: Policies = Policies()) {
        posted = Mutex((policies, []))
    }

    /// Adds a loop, which takes over later policies. Returns those in force.
    func join(_ mailbox: LoopMailbox) -> Policies {
        posted.withLock { posted in
            posted.loops.append(mailbox)
            return posted.policies
        }
    }

    func leave(_ mailbox: LoopMailbox) {
        posted.withLock { $0.loops.removeAll { $0 === mailbox } }
    }

    /// The policies in force.
    package var policies: Policies { posted.withLock { $0.policies } }

    /// The mailboxes of all loops.
    var loops: [LoopMailbox] { posted.withLock { $0.loops } }

    /// Replaces the policies, and waits until each loop uses the new ones. Not to be called on a loop.
    package func post(_ policies: Policies) {
        let loops = posted.withLock { posted in
            posted.policies = policies
            return posted.loops
        }
        let group = DispatchGroup()
        for loop in loops {
            group.enter()
            loop.runEvenIfStopped { handler in
                handler?.apply(policies)
                group.leave()
            }
        }
        group.wait()
    }
}
