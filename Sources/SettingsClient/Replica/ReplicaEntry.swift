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
    var pending: [PendingWrite] = []
    /// Shared by those who read the key, if there are any.
    var cell: KeyCell?

    /// What the program sees: its latest write, else what is confirmed.
    var visible: VisibleSetting {
        guard let write = pending.last else { return confirmed }
        return VisibleSetting(value: write.value, source: write.value == nil ? .unset : .stored, revision: nil)
    }

    /// Takes in what the daemon said of a revision. Own writes that changed nothing up to there are part of that.
    mutating func confirm(_ setting: VisibleSetting, asOf revision: Revision) {
        confirmed = setting
        asOf = revision
        pending.removeAll { $0.settledAt.map { $0 <= revision } ?? false }
    }

    /// Whether nothing would be lost with the entry.
    var isEmpty: Bool {
        cell == nil && pending.isEmpty && confirmed.value == nil && confirmed.source == .unset
    }
}

/// A write of the program's own that the daemon has not confirmed, or whose change has not been told yet.
struct PendingWrite: Sendable {
    let ticket: UInt64
    /// What it stores; nil to remove.
    let value: JSONValue?
    /// Set once it was acknowledged without saying what is there: it is shown until the replica is at this place.
    var settledAt: Revision?
}
