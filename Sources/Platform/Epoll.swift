internal import CLinux
internal import Glibc

/// A set of descriptors whose readiness the kernel reports, level-triggered: what was not finished is reported again.
///
/// Belongs to one thread, or one serial queue.
package final class Epoll {
    /// A set of events. Errors and hang-ups are reported whether asked for or not.
    package struct Events: OptionSet {
        package let rawValue: UInt32

        package init(rawValue: UInt32) {
            self.rawValue = rawValue
        }

        package static let readable = Events(rawValue: EPOLLIN.rawValue)
        package static let writable = Events(rawValue: EPOLLOUT.rawValue)
        /// The peer has shut down its sending side. Reported without reading up to there.
        package static let peerEnded = Events(rawValue: EPOLLRDHUP.rawValue)
        package static let failed = Events(rawValue: EPOLLERR.rawValue)
        package static let hungUp = Events(rawValue: EPOLLHUP.rawValue)
    }

    private let owned: Descriptor
    private let capacity: Int
    private let events: UnsafeMutablePointer<epoll_event>

    /// - Parameter capacity: how many events one `poll` returns at most.
    package init(capacity: Int) throws(SystemError) {
        let descriptor = epoll_create1(Int32(EPOLL_CLOEXEC))
        guard descriptor >= 0 else { throw SystemError(call: "epoll_create1") }
        owned = Descriptor(descriptor)
        self.capacity = capacity
        events = .allocate(capacity: capacity)
        events.initialize(repeating: epoll_event(), count: capacity)
    }

    deinit {
        events.deallocate()
    }

    /// The number to wait on: readable when an event has come.
    package var descriptor: Int32 { owned.number }

    /// Adds a descriptor under a name; false if the kernel has no room for another. Closing the descriptor removes it.
    package func add(_ descriptor: Int32, _ wanted: Events, name: UInt64) -> Bool {
        control(EPOLL_CTL_ADD, descriptor, wanted, name)
    }

    package func change(_ descriptor: Int32, _ wanted: Events, name: UInt64) {
        _ = control(EPOLL_CTL_MOD, descriptor, wanted, name)
    }

    /// Returns how many events there are now. Never waits.
    package func poll() -> Int {
        let count = epoll_wait(descriptor, events, Int32(capacity), 0)
        return count > 0 ? Int(count) : 0
    }

    /// An event that the last `poll` found.
    package subscript(position: Int) -> (events: Events, name: UInt64) {
        let event = events[position]
        return (Events(rawValue: event.events), event.data.u64)
    }

    private func control(_ operation: Int32, _ descriptor: Int32, _ wanted: Events, _ name: UInt64) -> Bool {
        var event = epoll_event()
        event.events = wanted.rawValue
        event.data.u64 = name
        return epoll_ctl(owned.number, operation, descriptor, &event) == 0
    }
}
