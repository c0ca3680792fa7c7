internal import SettingsAPI
internal import SettingsModel

/// A setting as the program sees it, its own writes included.
struct VisibleSetting: Hashable, Sendable {
    /// The effective value; nil if there is none.
    var value: JSONValue?
    /// Where it comes from; nil if that was not told: it is stored or a default of the schema.
    var source: Source?
    /// The last commit that changed it; nil if that was not told, or if a write of the program's own is under way.
    var revision: Revision?

    static let unset = VisibleSetting(value: nil, source: .unset, revision: nil)

    /// Whether a reader sees no difference.
    func looksLike(_ other: VisibleSetting) -> Bool {
        value == other.value && source == other.source
    }
}

/// What changed of one key.
struct ReplicaChange: Hashable, Sendable {
    let key: KeyName
    let old: VisibleSetting
    let new: VisibleSetting
}

/// What listeners are told, in the order in which readers could see it.
enum ReplicaNews: Hashable, Sendable {
    case changed(ReplicaChange)
    /// From here on this is registered for a key.
    case registered(ObservedSetting)
    /// From here on somebody observes, who is known by this number, and this is what there is.
    case began(UInt64, [ObservedSetting])
}

/// What the replica knows of one key.
struct ReplicaEntry: Sendable {
    /// What the daemon said last.
    var confirmed = VisibleSetting.unset
    /// The place in history at which that was true, where it is ahead of the replica's.
    var asOf = Revision.zero
    /// Writes under way, the latest last.
    var pending = PendingWrites()
    /// Shared by those who read or write the key, who hold it: of names that are used once nothing stays.
    weak var cell: KeyCell?

    /// What the program sees: its latest write, else what is confirmed.
    var visible: VisibleSetting {
        pending.seen ?? confirmed
    }

    /// Takes a change in, unless what is known is as new.
    mutating func take(_ change: Change, after known: Revision) {
        guard change.revision > max(known, asOf) else { return }
        confirm(
            VisibleSetting(value: change.new, source: change.source, revision: change.revision), at: change.revision)
    }

    /// Takes over what the daemon said of a place in history ahead of the replica's. Writes that were acknowledged up to
    /// there do not hide it.
    mutating func confirm(_ setting: VisibleSetting, at place: Revision) {
        confirmed = setting
        asOf = place
        pending.removeSettled(upTo: place)
    }

    /// Whether nothing would be lost with the entry.
    var isEmpty: Bool {
        cell == nil && pending.isEmpty && confirmed.value == nil && confirmed.source == .unset
    }
}

/// What there is of a key at one moment in the layers that change. The command line and the key's own default do not.
struct ObservedSetting: Hashable, Sendable {
    let key: KeyName
    var visible: VisibleSetting
    /// What is registered under it.
    var registered: JSONValue?

    /// Whether it matters where the value comes from, and that was not told: what is registered lies over a default of
    /// the schema and under what is stored.
    var lacksSource: Bool {
        registered != nil && visible.source == nil
    }
}
