internal import Glibc
internal import SettingsModel
public import Synchronization

/// What all readers of one key share: a number that grows whenever what they would read may be another.
///
/// So a reader that kept a decoded value sees with one load whether it still holds.
@usableFromInline
final class KeyCell: Sendable {
    let name: KeyName
    private let gate = Mutex<Void>(())
    /// The thread that holds the gate; 0 for none.
    private let sender = Atomic<UInt>(0)

    @usableFromInline let counter = Atomic<UInt64>(1)

    init(_ name: KeyName) {
        self.name = name
    }

    /// Does what sends a write to the key, one after the other, so that writes of one program reach the daemon in the
    /// order in which they were seen here.
    ///
    /// What a conflict leads to is done meanwhile, too: the type of the values reads what is there, and writes what
    /// is to be. That may be the program's own code, and if it uses the same key, the error is thrown, as it cannot
    /// wait for itself.
    func send<Result, Failure: Error>(
        orThrow reentry: @autoclosure () -> Failure, _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let thread = UInt(pthread_self())
        guard sender.load(ordering: .relaxed) != thread else { throw reentry() }
        return try gate.withLock { _ throws(Failure) in
            sender.store(thread, ordering: .relaxed)
            defer { sender.store(0, ordering: .relaxed) }
            return try body()
        }
    }

    /// Never 0.
    @inlinable var version: UInt64 {
        counter.load(ordering: .acquiring)
    }

    func advance() {
        counter.wrappingAdd(1, ordering: .acquiringAndReleasing)
    }
}
