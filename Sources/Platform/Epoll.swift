internal import CLinux
internal import Glibc

/// Which descriptors are ready. Level-triggered: what was not finished is reported again.
///
/// It belongs to one loop; `Connection` decides which events it wants to hear of.
package final class Epoll {
    /// A set of events, as the kernel writes it. Errors and hang-ups are reported whether asked for or not.
    package struct Events: OptionSet {
        package let rawValue: UInt32

        package init(rawValue: UInt32) {
            self.rawValue = rawValue
        }

        package static let readable = Events(rawValue: EPOLLIN.rawValue)
        package static let writable = Events(rawValue: EPOLLOUT.rawValue)
        /// The peer has shut down its sending side, told without reading up to there.
        package static let peerEnded = Events(rawValue: EPOLLRDHUP.rawValue)
        package static let failed = Events(rawValue: EPOLLERR.rawValue)
        package static let hungUp = Events(rawValue: EPOLLHUP.rawValue)
    }

    /// Few, so that the writer begins with what one batch handed over while the loop goes on with the next.
    package static let capacity = 24

    package let descriptor: Int32
    private let owned: OwnedDescriptor
    private let events: UnsafeMutablePointer<epoll_event>

    package init() throws(SystemError) {
        descriptor = epoll_create1(Int32(EPOLL_CLOEXEC))
        guard descriptor >= 0 else { throw SystemError(call: "epoll_create1", code: errno) }
        owned = OwnedDescriptor(descriptor)
        events = .allocate(capacity: Self.capacity)
        events.initialize(repeating: epoll_event(), count: Self.capacity)
    }

    deinit {
        events.deallocate()
    }

    /// False if the kernel has no room for another.
    package func add(_ socket: Socket, _ wanted: Events, name: UInt64) -> Bool {
        control(EPOLL_CTL_ADD, socket, wanted, name)
    }

    package func change(_ socket: Socket, _ wanted: Events, name: UInt64) {
        _ = control(EPOLL_CTL_MOD, socket, wanted, name)
    }

    /// How many are ready now, at most `capacity`; never waits.
    package func poll() -> Int {
        let count = epoll_wait(descriptor, events, Int32(Self.capacity), 0)
        return count > 0 ? Int(count) : 0
    }

    /// What the last `poll` found, by its position.
    package subscript(position: Int) -> (events: Events, name: UInt64) {
        let event = events[position]
        return (Events(rawValue: event.events), event.data.u64)
    }

    private func control(_ operation: Int32, _ socket: Socket, _ wanted: Events, _ name: UInt64) -> Bool {
        var event = epoll_event()
        event.events = wanted.rawValue
        event.data.u64 = name
        return epoll_ctl(descriptor, operation, socket.descriptor, &event) == 0
    }
}
