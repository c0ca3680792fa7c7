internal import CLinux
internal import Glibc

/// An epoll instance: a set of file descriptors whose readiness the kernel reports.
///
/// The descriptors are level-triggered: each ``wait(milliseconds:)`` reports a descriptor while it is ready.
///
/// Owned by one thread or serial queue. Only ``wake()`` is thread-safe.
package final class Epoll {
    /// A set of events. The kernel always reports ``failed`` and ``hungUp``, even if they are not requested.
    ///
    /// The type is not an `OptionSet`, because other modules would call the operations of an `OptionSet` through slow
    /// generic functions. The numbers are copied from `epoll.h`, because inlinable code cannot use the constants of
    /// Glibc.
    @usableFromInline
    package struct Events: Equatable {
        @usableFromInline let bits: UInt32

        @inlinable
        init(bits: UInt32) {
            self.bits = bits
        }

        @inlinable package static var none: Events { Events(bits: 0) }
        @inlinable package static var readable: Events { Events(bits: 0x1) }
        @inlinable package static var writable: Events { Events(bits: 0x4) }
        /// The peer has shut down its sending side. The kernel reports this event even while received bytes are unread.
        @inlinable package static var peerHalfClosed: Events { Events(bits: 0x2000) }
        @inlinable package static var failed: Events { Events(bits: 0x8) }
        @inlinable package static var hungUp: Events { Events(bits: 0x10) }
        /// The kernel reports the descriptor only when its readiness changes (`EPOLLET`).
        static var edgeTriggered: Events { Events(bits: 1 << 31) }

        /// Returns true if the sets have an event in common.
        @inlinable
        package func contains(_ event: Events) -> Bool { bits & event.bits != 0 }

        @inlinable
        package static func | (one: Events, other: Events) -> Events { Events(bits: one.bits | other.bits) }

        @inlinable
        package static func == (one: Events, other: Events) -> Bool { one.bits == other.bits }
    }

    /// The token of ``wakeCounter``. The calling code must not use this value for a descriptor.
    private static let wakeToken = UInt64.max

    private let epollDescriptor: Descriptor
    /// An `eventfd` that ``wake()`` increments. The `eventfd` is edge-triggered, so epoll reports each increment once,
    /// and no thread reads the counter.
    private let wakeCounter: Descriptor
    private let capacity: Int
    private let events: UnsafeMutablePointer<epoll_event>

    /// - Parameter capacity: the maximum number of events that one call of ``wait(milliseconds:)`` returns.
    package init(capacity: Int) throws(SystemError) {
        let descriptor = epoll_create1(Int32(EPOLL_CLOEXEC))
        guard descriptor >= 0 else { throw SystemError(call: "epoll_create1") }
        epollDescriptor = Descriptor(descriptor)
        let counter = eventfd(0, Int32(EFD_CLOEXEC) | Int32(EFD_NONBLOCK))
        guard counter >= 0 else { throw SystemError(call: "eventfd") }
        wakeCounter = Descriptor(counter)
        self.capacity = capacity
        events = .allocate(capacity: capacity)
        events.initialize(repeating: epoll_event(), count: capacity)
        guard add(counter, .readable | .edgeTriggered, token: Self.wakeToken) else {
            throw SystemError(call: "epoll_ctl")
        }
    }

    deinit {
        events.deallocate()
    }

    /// Adds a descriptor. Returns false if the kernel refuses the descriptor. When a descriptor is closed, the kernel
    /// removes it from the set.
    ///
    /// - Parameter token: a number that identifies the descriptor in reported events.
    package func add(_ descriptor: Int32, _ requested: Events, token: UInt64) -> Bool {
        control(EPOLL_CTL_ADD, descriptor, requested, token)
    }

    /// Replaces the requested events of a descriptor.
    package func modify(_ descriptor: Int32, _ requested: Events, token: UInt64) {
        _ = control(EPOLL_CTL_MOD, descriptor, requested, token)
    }

    /// Waits for events, and returns the number of events. Returns 0 after a timeout or if a signal arrives.
    ///
    /// - Parameter milliseconds: the maximum time to wait; nil for no limit.
    package func wait(milliseconds: Int?) -> Int {
        let count = epoll_wait(
            epollDescriptor.number, events, Int32(capacity), milliseconds.map { Int32(clamping: max(0, $0)) } ?? -1)
        return count > 0 ? Int(count) : 0
    }

    /// Makes the current call of ``wait(milliseconds:)`` return or, if no call is in progress, the next call.
    /// Thread-safe.
    package func wake() {
        _ = eventfd_write(wakeCounter.number, 1)
    }

    /// Returns an event of the last call of ``wait(milliseconds:)``, with the token of the descriptor. An event with a
    /// token that the calling code has not passed to ``add(_:_:token:)`` comes from ``wake()``.
    package subscript(position: Int) -> (events: Events, token: UInt64) {
        let event = events[position]
        return (Events(bits: event.events), event.data.u64)
    }

    private func control(_ operation: Int32, _ descriptor: Int32, _ requested: Events, _ token: UInt64) -> Bool {
        var event = epoll_event()
        event.events = requested.bits
        event.data.u64 = token
        return epoll_ctl(epollDescriptor.number, operation, descriptor, &event) == 0
    }
}
