internal import CLinux
internal import Glibc

/// A list of descriptors that one thread waits on with `poll`.
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

    /// Waits until a descriptor is ready; false if the time is over or a signal has come before. Without a time it waits
    /// for ever.
    package mutating func wait(until time: ContinuousClock.Instant?) -> Bool {
        Glibc.poll(&entries, nfds_t(entries.count), Self.milliseconds(until: time)) > 0
    }

    /// True if the descriptor that was added at this position was ready, or has failed, when the last wait ended.
    package func isReady(_ position: Int) -> Bool {
        entries[position].revents != 0
    }

    /// Waits on one descriptor, as `wait(until:)` does on several. A negative one is never ready.
    package static func wait(
        for events: Events, on descriptor: Int32, until time: ContinuousClock.Instant?
    ) -> Bool {
        var entry = pollfd(fd: descriptor, events: events.rawValue, revents: 0)
        return Glibc.poll(&entry, 1, milliseconds(until: time)) > 0
    }

    /// True if a descriptor is ready now.
    package static func isReady(_ descriptor: Int32, for events: Events) -> Bool {
        var entry = pollfd(fd: descriptor, events: events.rawValue, revents: 0)
        return Glibc.poll(&entry, 1, 0) > 0
    }

    /// Rounds up, so that a wait that ran out has reached its time.
    private static func milliseconds(until time: ContinuousClock.Instant?) -> Int32 {
        guard let time else { return -1 }
        let (seconds, fraction) = (time - .now).components
        guard seconds >= 0, fraction >= 0 else { return 0 }
        guard seconds < 1_000_000 else { return 1_000_000_000 }
        return Int32(seconds * 1000 + (fraction + 999_999_999_999_999) / 1_000_000_000_000_000)
    }
}

/// A descriptor that any thread makes readable to end another thread's wait.
package final class Waker: Sendable {
    private let owned: Descriptor

    package init() throws(SystemError) {
        let descriptor = eventfd(0, Int32(EFD_CLOEXEC | EFD_NONBLOCK))
        guard descriptor >= 0 else { throw SystemError(call: "eventfd") }
        owned = Descriptor(descriptor)
    }

    /// The number to wait on. The waker keeps it open.
    package var descriptor: Int32 { owned.number }

    /// Makes the descriptor readable.
    package func wake() {
        var count: UInt64 = 1
        while write(descriptor, &count, 8) < 0, errno == EINTR {}
    }

    /// Makes the descriptor unreadable until the next `wake`.
    package func reset() {
        var count: UInt64 = 0
        while read(descriptor, &count, 8) < 0, errno == EINTR {}
    }
}
