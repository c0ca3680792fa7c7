/// Which revisions of settings calls still have to find.
///
/// A setting never has a revision again that it has lost. So a write must not come before a call that was shown what it
/// replaces.
struct WantedRevisions {
    private struct Place: Hashable {
        let setting: Int
        let revision: Int64
    }

    /// For each call the revisions that it found.
    private let found: [[Place]]
    private var counts: [Place: Int] = [:]

    init(_ calls: [Call]) {
        found = calls.map { call in
            call.sightsBefore.compactMap { sight in sight.revision.map { Place(setting: sight.setting, revision: $0) } }
        }
        for place in found.joined() { counts[place, default: 0] += 1 }
    }

    /// Notes that a call was put in order.
    mutating func take(_ call: Int) {
        for place in found[call] { counts[place, default: 0] -= 1 }
    }

    /// Takes that back.
    mutating func putBack(_ call: Int) {
        for place in found[call] { counts[place, default: 0] += 1 }
    }

    /// Whether a call that leads from one model to the other takes nothing away that another one has to find.
    func allow(_ call: Int, from old: Model, to new: Model) -> Bool {
        for (setting, standing) in old.standings.enumerated() where new.standings[setting] != standing {
            let place = Place(setting: setting, revision: standing.revision)
            guard let count = counts[place], count > 0 else { continue }
            if count > found[call].count(where: { $0 == place }) { return false }
        }
        return true
    }
}

extension Call {
    /// What the answer showed of the time before the call.
    fileprivate var sightsBefore: [Sight] {
        if case .committed(_, let before, _) = outcome { before } else { sights }
    }
}
