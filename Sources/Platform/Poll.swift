internal import CLinux
internal import Glibc

/// A list of descriptors on which one thread waits with `poll`.
package struct PollSet {
    package struct Events: OptionSet, Hashable, Sendable {
        package let rawValue: Int16

        package init(rawValue: Int16) {
            self.rawValue = rawValue
        }

        package static let readable = Events(rawValue: Int16(POLLIN))
        package static let writable = Events(rawValue: Int16(POLLOUT))
    }

    private var entries: [pollfd] = []

    package init() {}

    package mutating func add(_ descriptor: Int32, _ events: Events) {
        entries.append(pollfd(fd: descriptor, events: events.rawValue, revents: 0))
    }

    package mutating func removeAll() {
        entries.removeAll(keepingCapacity: true)
    }

    /// Waits until a descriptor is ready. Returns false if the deadline passes or a signal arrives first.
    ///
    /// - Parameter deadline: nil to wait without a limit.
    package mutating func wait(until deadline: ContinuousClock.Instant?) -> Bool {
        Glibc.poll(&entries, nfds_t(entries.count), Self.milliseconds(until: deadline)) > 0
    }

    /// Returns true if the last wait reported an event or an error of a descriptor. The descriptor that was added first
    /// has position 0.
    package func isReady(_ position: Int) -> Bool {
        entries[position].revents != 0
    }

    /// Waits on one descriptor, like ``wait(until:)``. If the descriptor is negative, waits until the deadline passes.
    package static func wait(
        for events: Events, on descriptor: Int32, until deadline: ContinuousClock.Instant?
    ) -> Bool {
        var entry = pollfd(fd: descriptor, events: events.rawValue, revents: 0)
        return Glibc.poll(&entry, 1, milliseconds(until: deadline)) > 0
    }

    /// Returns true if a descriptor is ready now. Does not wait.
    package static func isReady(_ descriptor: Int32, for events: Events) -> Bool {
        var entry = pollfd(fd: descriptor, events: events.rawValue, revents: 0)
        return Glibc.poll(&entry, 1, 0) > 0
    }

    /// Returns the timeout for `poll`, which is -1 for no limit. Rounds up, so that `poll` does not return before the
    /// deadline. Returns at most a million seconds, because the number must fit in 32 bits.
    private static func milliseconds(until deadline: ContinuousClock.Instant?) -> Int32 {
        guard let deadline else { return -1 }
        let (seconds, fraction) = (deadline - .now).components
        guard seconds >= 0, fraction >= 0 else { return 0 }
        guard seconds < 1_000_000 else { return 1_000_000_000 }
        return Int32(seconds * 1000 + (fraction + 999_999_999_999_999) / 1_000_000_000_000_000)
    }
}

/// Wakes a thread that waits on a descriptor: other threads make the descriptor readable. Thread-safe.
package final class Waker: Sendable {
    private let eventDescriptor: Descriptor

    package init() throws(SystemError) {
        let descriptor = eventfd(0, Int32(EFD_CLOEXEC | EFD_NONBLOCK))
        guard descriptor >= 0 else { throw SystemError(call: "eventfd") }
        eventDescriptor = Descriptor(descriptor)
    }

    /// The descriptor to wait on. Owned by the waker.
    package var descriptor: Int32 { eventDescriptor.number }

    /// Makes the descriptor readable.
    package func wake() {
        var count: UInt64 = 1
        while write(descriptor, &count, 8) < 0, errno == EINTR {}
    }

    /// Makes the descriptor unreadable until the next call of ``wake()``.
    package func reset() {
        var count: UInt64 = 0
        while read(descriptor, &count, 8) < 0, errno == EINTR {}
    }
}
