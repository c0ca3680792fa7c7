internal import CLinux
internal import Glibc

/// A set of descriptors whose readiness the kernel reports, level-triggered: what was not finished is reported again.
///
/// Belongs to one thread, or one serial queue, but for ``wake()``.
package final class Epoll {
    /// A set of events. Errors and hang-ups are reported whether asked for or not.
    ///
    /// Not an `OptionSet`, whose operations would be calls of generic functions in other modules. The numbers are those of
    /// `epoll.h`, since what is inlined there cannot name Glibc's.
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
        /// The peer has shut down its sending side. Reported without reading up to there.
        @inlinable package static var peerEnded: Events { Events(bits: 0x2000) }
        @inlinable package static var failed: Events { Events(bits: 0x8) }
        @inlinable package static var hungUp: Events { Events(bits: 0x10) }
        /// Reported once for each change, not for as long as it lasts.
        static var onChange: Events { Events(bits: 1 << 31) }

        /// True if any of these events is in the set.
        @inlinable
        package func contains(_ event: Events) -> Bool { bits & event.bits != 0 }

        @inlinable
        package static func | (one: Events, other: Events) -> Events { Events(bits: one.bits | other.bits) }

        @inlinable
        package static func == (one: Events, other: Events) -> Bool { one.bits == other.bits }
    }

    /// The name under which `wake` is reported: that of no connection.
    private static let wakeName = UInt64.max

    private let owned: Descriptor
    /// A counter that `wake` increments. Its event is reported once for each increment, so it is never read.
    private let wakeCounter: Descriptor
    private let capacity: Int
    private let events: UnsafeMutablePointer<epoll_event>

    /// - Parameter capacity: how many events one `wait` returns at most.
    package init(capacity: Int) throws(SystemError) {
        let descriptor = epoll_create1(Int32(EPOLL_CLOEXEC))
        guard descriptor >= 0 else { throw SystemError(call: "epoll_create1") }
        owned = Descriptor(descriptor)
        let counter = eventfd(0, Int32(EFD_CLOEXEC) | Int32(EFD_NONBLOCK))
        guard counter >= 0 else { throw SystemError(call: "eventfd") }
        wakeCounter = Descriptor(counter)
        self.capacity = capacity
        events = .allocate(capacity: capacity)
        events.initialize(repeating: epoll_event(), count: capacity)
        guard add(counter, .readable | .onChange, name: Self.wakeName) else { throw SystemError(call: "epoll_ctl") }
    }

    deinit {
        events.deallocate()
    }

    /// Adds a descriptor under a name; false if the kernel has no room for another. Closing the descriptor removes it.
    package func add(_ descriptor: Int32, _ wanted: Events, name: UInt64) -> Bool {
        control(EPOLL_CTL_ADD, descriptor, wanted, name)
    }

    package func change(_ descriptor: Int32, _ wanted: Events, name: UInt64) {
        _ = control(EPOLL_CTL_MOD, descriptor, wanted, name)
    }

    /// Waits until there are events, and returns how many. Returns 0 after this time, or sooner.
    ///
    /// - Parameter milliseconds: the longest wait; nil for one without an end.
    package func wait(milliseconds: Int?) -> Int {
        let count = epoll_wait(
            owned.number, events, Int32(capacity), milliseconds.map { Int32(clamping: max(0, $0)) } ?? -1)
        return count > 0 ? Int(count) : 0
    }

    /// Ends a `wait`: the present one or, if there is none, the next. From any thread.
    package func wake() {
        _ = eventfd_write(wakeCounter.number, 1)
    }

    /// An event that the last `wait` found. A name that was never given stands for `wake`.
    package subscript(position: Int) -> (events: Events, name: UInt64) {
        let event = events[position]
        return (Events(bits: event.events), event.data.u64)
    }

    private func control(_ operation: Int32, _ descriptor: Int32, _ wanted: Events, _ name: UInt64) -> Bool {
        var event = epoll_event()
        event.events = wanted.bits
        event.data.u64 = name
        return epoll_ctl(owned.number, operation, descriptor, &event) == 0
    }
}
