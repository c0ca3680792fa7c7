internal import Dispatch
internal import Synchronization

/// The policies that a reload replaces, all at once.
package struct Policies: Sendable {
    package var hosts: HostPolicy
    /// Nil without access control.
    package var access: AccessPolicy?
    package var proxies = TrustedProxies()
    package var logging = RequestLogging()

    package init(hosts: HostPolicy = HostPolicy(), access: AccessPolicy? = nil) {
        self.hosts = hosts
        self.access = access
    }
}

/// A board with the policies in force. Each loop has a copy, so that a request takes no lock.
package final class PolicyBoard: Sendable {
    private let posted: Mutex<(policies: Policies, readers: [LoopMailbox])>

    package init(_ policies: Policies) {
        posted = Mutex((policies, []))
    }

    /// Adds a loop, which hears of later policies. Returns those in force.
    func join(_ mailbox: LoopMailbox) -> Policies {
        posted.withLock { posted in
            posted.readers.append(mailbox)
            return posted.policies
        }
    }

    func leave(_ mailbox: LoopMailbox) {
        posted.withLock { $0.readers.removeAll { $0 === mailbox } }
    }

    /// The mailboxes of all loops.
    var loops: [LoopMailbox] { posted.withLock { $0.readers } }

    /// Replaces the policies, and waits until each loop uses the new ones. Not to be called on a loop.
    package func post(_ policies: Policies) {
        let readers = posted.withLock { posted in
            posted.policies = policies
            return posted.readers
        }
        let group = DispatchGroup()
        for reader in readers { reader.take(policies, group) }
        group.wait()
    }
}
