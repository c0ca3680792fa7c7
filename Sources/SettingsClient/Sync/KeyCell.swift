internal import Dispatch
internal import Platform
internal import SettingsModel
internal import Synchronization

/// A version number that all readers of one key share. It grows whenever they may read another value.
///
/// A reader that has cached a decoded value checks with one load if it still holds.
final class KeyCell: Sendable {
    let name: KeyName
    /// The turn of writers: writes of one program reach the server in the order in which readers see them. Conflicts are
    /// resolved in it, too, which may run the program's own code.
    let turn = Turn()

    private let counter = Atomic<UInt64>(1)

    init(_ name: KeyName) {
        self.name = name
    }

    /// Never 0.
    var version: UInt64 {
        counter.load(ordering: .acquiring)
    }

    func advance() {
        counter.wrappingAdd(1, ordering: .acquiringAndReleasing)
    }
}

/// A turn that threads take one after the other, in the order in which they ask.
///
/// A thread may wait for the network or a disk in its turn: unlike a lock, a turn guards an order and no data.
final class Turn: Sendable {
    private struct State {
        /// The thread whose turn it is; 0 for none.
        var holder: UInt = 0
        var waiting: ArraySlice<(thread: UInt, semaphore: DispatchSemaphore)> = []
    }

    private let state = Mutex(State())

    /// Runs a body in turn. Throws the error if this thread has the turn already, as it cannot wait for itself.
    func take<Result, Failure: Error>(
        orThrow reentry: @autoclosure () -> Failure, _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        guard take() else { throw reentry() }
        defer { give() }
        return try body()
    }

    /// Waits for the turn; false if this thread has it.
    private func take() -> Bool {
        let thread = CurrentThread.identifier
        let (isOwn, semaphore) = state.withLock { state -> (Bool, DispatchSemaphore?) in
            if state.holder == thread { return (true, nil) }
            if state.holder == 0 {
                state.holder = thread
                return (false, nil)
            }
            let semaphore = DispatchSemaphore(value: 0)
            state.waiting.append((thread, semaphore))
            return (false, semaphore)
        }
        semaphore?.wait()
        return !isOwn
    }

    private func give() {
        let next = state.withLock { state in
            let next = state.waiting.popFirst()
            state.holder = next?.thread ?? 0
            if state.waiting.isEmpty { state.waiting = [] }
            return next?.semaphore
        }
        next?.signal()
    }
}
