internal import Dispatch
internal import Synchronization

/// The policies that a configuration reload replaces together.
package struct Policies: Sendable {
    /// The values of the fields `Host` and `Origin` that requests may have.
    package var hosts = HostPolicy()
    /// The grants of all callers; nil without access control.
    package var access: AccessPolicy?
    package var proxies = TrustedProxies()
    package var logging = RequestLogging()
    /// True if the daemon serves the web page for viewing and editing settings.
    package var servesWebPage = true
    /// The maximum request rate of a client (a caller, a Unix user or an address); nil for no limit.
    package var rate: RequestRate?

    package init() {}
}

/// Copies the current policies to all event loops, so that handling a request needs no lock. Thread-safe.
package final class PolicyBoard: Sendable {
    private let state: Mutex<(policies: Policies, mailboxes: [LoopMailbox])>

    package init(_ policies: Policies = Policies()) {
        state = Mutex((policies, []))
    }

    /// Adds the mailbox of a loop, which receives all later policies. Returns the current policies.
    func join(_ mailbox: LoopMailbox) -> Policies {
        state.withLock { state in
            state.mailboxes.append(mailbox)
            return state.policies
        }
    }

    /// Removes the mailbox of a loop.
    func leave(_ mailbox: LoopMailbox) {
        state.withLock { $0.mailboxes.removeAll { $0 === mailbox } }
    }

    package var policies: Policies { state.withLock { $0.policies } }

    var mailboxes: [LoopMailbox] { state.withLock { $0.mailboxes } }

    /// Replaces the policies, and waits until each loop uses the new policies. Must not be called on an event loop.
    package func replacePolicies(with policies: Policies) {
        let mailboxes = state.withLock { state in
            state.policies = policies
            return state.mailboxes
        }
        let group = DispatchGroup()
        for mailbox in mailboxes {
            group.enter()
            mailbox.runEvenIfStopped { handler in
                handler?.apply(policies)
                group.leave()
            }
        }
        group.wait()
    }
}
