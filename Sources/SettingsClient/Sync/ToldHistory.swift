internal import Dispatch
internal import SettingsAPI
internal import SettingsHTTP
internal import SettingsModel
internal import Synchronization

/// Which history whoever follows a suite has been told of.
///
/// A daemon may be replaced by one with other data. Then a write may be answered in a history of which nothing has been
/// told yet, or be answered late, in one that was left; and its revision would be compared with those of another. So
/// answers are held until both are one history.
final class ToldHistory: Sendable {
    private struct State {
        /// Nil while the move to another is being told.
        var epoch: Epoch?
        /// How often it became another.
        var moves = 0
        var waiting: [DispatchSemaphore] = []
    }

    private let state: Mutex<State>

    init(_ epoch: Epoch) {
        state = Mutex(State(epoch: epoch))
    }

    /// How often it became another.
    var moves: Int { state.withLock { $0.moves } }

    func isAt(_ epoch: Epoch) -> Bool {
        state.withLock { $0.epoch == epoch }
    }

    /// Tells something of a history. One at a time.
    func tell(of epoch: Epoch, _ body: () -> Void) {
        let isMove = state.withLock { state in
            guard state.epoch != epoch else { return false }
            state.epoch = nil
            return true
        }
        body()
        guard isMove else { return }
        let waiting = state.withLock { state in
            state.epoch = epoch
            state.moves += 1
            defer { state.waiting = [] }
            return state.waiting
        }
        for semaphore in waiting { semaphore.signal() }
    }

    /// Waits until it has become another more often than so many times, or the time is over.
    func wait(forMoveAfter moves: Int, until deadline: ContinuousClock.Instant) {
        let semaphore = DispatchSemaphore(value: 0)
        let isThere = state.withLock { state in
            if state.moves > moves { return true }
            state.waiting.append(semaphore)
            return false
        }
        if isThere { return }
        let time = DispatchTime.now() + .milliseconds(Int(WireBuffer.milliseconds(until: deadline)))
        if semaphore.wait(timeout: time) == .success { return }
        state.withLock { state in state.waiting.removeAll { $0 === semaphore } }
    }
}
