internal import SettingsAPI
package import SettingsEngine
internal import SettingsModel

/// What was found in a data directory, and what it came to.
package struct Recovered: Sendable {
    /// Something that an operator should know.
    package struct Note: Hashable, Sendable, CustomStringConvertible {
        /// Whether it should not have happened.
        package let isWarning: Bool
        package let description: String

        static func warning(_ text: String) -> Note { Note(isWarning: true, description: text) }
        static func information(_ text: String) -> Note { Note(isWarning: false, description: text) }
    }

    /// The state to go on from.
    package var state: State
    /// What an operator should know of how it came about.
    package var notes: [Note] = []
    /// Whether a new epoch began, because the directory is new or because acknowledged writes may be missing.
    package var beganEpoch = false
    /// The last commit of the journals, which the next journal names: behind it begins what comes now.
    var last: Revision
    /// The snapshot that everything began with; nil for the beginning of history.
    var snapshot: Revision?
    /// Snapshots that cannot be read, newest first, with why.
    var damagedSnapshots: [(name: String, reason: String)] = []
    /// What the newest journal says of itself; nil if there is none.
    var head: JournalHead?
    /// Whether the directory is a copy of another one, which may have gone on since.
    var isCopy = false
    /// Whether the daemon stopped as it should.
    var isClosed = false
    /// A tail to be cut.
    var torn: TornTail?
    /// Whether the journal is missing that the snapshot goes on in.
    var lacksJournal = false
    /// How many bytes of journals were replayed: how far the newest snapshot is behind.
    var replayed = 0
    /// The same in commits.
    var replayedCommits = 0

    init(_ state: State, snapshot: Revision? = nil) {
        self.state = state
        self.snapshot = snapshot
        last = state.revision
    }
}
