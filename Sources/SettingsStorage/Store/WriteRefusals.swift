package import SettingsAPI
internal import SettingsModel

/// The problems of writes that the store does not accept.
extension Problem {
    package static var shuttingDown: Problem {
        Problem(.shuttingDown, outcome: .notDone, retryAfterMs: 1000, "the daemon is stopping; try again in a moment")
    }

    package static var tooManyWrites: Problem {
        Problem(
            .overloaded, outcome: .notDone, retryAfterMs: 1000, "too many writes are waiting; try again in a moment")
    }
}
