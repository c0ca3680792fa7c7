internal import SettingsModel
internal import Synchronization

/// What waits while nobody answers, until somebody does.
final class Absence: Sendable {
    /// How long nobody is asked for a source again, after there was no answer.
    private static let pause = Duration.seconds(1)

    private let shared = Mutex(Shared())

    private struct Shared {
        var isStale = false
        var pause: ContinuousClock.Instant?
        var renames: [RenameProgress] = []
    }

    /// Whether what is known here is what was known at an earlier time, as nobody has said how it is.
    var isStale: Bool {
        shared.withLock { $0.isStale }
    }

    /// Notes that what is known is what was known at an earlier time.
    func beginStale() {
        shared.withLock { $0.isStale = true }
    }

    /// Whether nobody answered just before: asking at each read would hold up each.
    var isPaused: Bool {
        shared.withLock { $0.pause.map { $0 > .now } ?? false }
    }

    func beginPause() {
        shared.withLock { $0.pause = .now + Self.pause }
    }

    /// Adds a key whose value could not be taken over from a former name.
    func add(_ rename: RenameProgress) {
        shared.withLock { $0.renames.append(rename) }
    }

    /// Somebody answered: what waits is to be tried again when it is read.
    ///
    /// - Parameter isWhole: whether what is known is how it is by now.
    func end(in session: SuiteSession, isWhole: Bool = true) {
        let renames = shared.withLock { shared in
            shared.pause = nil
            guard isWhole else { return [RenameProgress]() }
            shared.isStale = false
            defer { shared.renames = [] }
            return shared.renames
        }
        guard !renames.isEmpty else { return }
        for rename in renames { rename.become(.open) }
        session.change { $0.touch(renames.map(\.migration.key)) }
    }
}
