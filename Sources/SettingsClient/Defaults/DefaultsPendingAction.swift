public import Foundation
internal import SettingsAPI

/// An action that the daemon will carry out at a deadline: it reverts a change, or makes a scheduled change.
///
///     let pending = try await Defaults.set(\.volume, 0.8, .confirm(within: .seconds(120)))
///     if await isSoundGood() { try await pending?.confirm() } else { try await pending?.revert() }
///
/// A revert restores only the settings that no later commit has changed. If the action has ended, for example because
/// the deadline has passed, every method throws ``DefaultsError/refused(_:)`` with the code `pendingEnded`, or with the
/// code `unknownPending` if the daemon no longer has the end of the action in memory. The methods send their requests
/// at once, before writes that wait in the outbox.
public struct DefaultsPendingAction: Sendable {
    /// The identifier, such as `p51`, with which the command line can end the action: `settings confirm p51`.
    public let id: String
    /// The time at which the daemon carries out the action, by the clock of the daemon.
    public let deadline: Date
    private let pendingID: PendingID
    private let core: AdapterCore

    /// Returns nil if the write has created no action, or if the action has ended and therefore has no deadline.
    init?(_ description: PendingDescription?, in core: AdapterCore) {
        guard let description, let deadline = description.deadline else { return nil }
        id = description.id.description
        self.deadline = deadline.date
        pendingID = description.id
        self.core = core
    }

    /// Keeps the change. Throws for a scheduled change that the daemon has not made yet.
    public nonisolated(nonsending) func confirm() async throws(DefaultsError) {
        _ = try await perform(.confirm)
    }

    /// Reverts the change now. Throws for a scheduled change that the daemon has not made yet.
    public nonisolated(nonsending) func revert() async throws(DefaultsError) {
        _ = try await perform(.revert)
    }

    /// Drops a scheduled change. Throws for a change that the daemon has already made.
    public nonisolated(nonsending) func cancel() async throws(DefaultsError) {
        _ = try await perform(.cancel)
    }

    /// Moves the deadline to the time that is this duration from now. Returns the action with the new deadline.
    @discardableResult
    public nonisolated(nonsending) func extend(
        to duration: Duration
    ) async throws(DefaultsError) -> DefaultsPendingAction {
        let summary = try await perform(.extend(PendingTime(duration)))
        return DefaultsPendingAction(summary.pending, in: core) ?? self
    }

    private nonisolated(nonsending) func perform(_ request: PendingRequest) async throws(DefaultsError) -> WriteSummary
    {
        try await throwingDefaultsError { () async throws(BackendError) in
            try await core.session.sendWithoutQueue(.perform(request, on: pendingID))
        }
    }
}
