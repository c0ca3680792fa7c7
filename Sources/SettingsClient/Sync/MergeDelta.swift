internal import SettingsAPI
internal import SettingsModel

/// What a change in place did, as something that can be done to another value too.
enum MergeDelta: Hashable, Sendable {
    case sum(InPlaceOperation.Amount)
    case append([JSONValue])
    case concat(String)
    /// New elements of a set.
    case union([JSONValue])

    /// Nil if the change was not of the kind that the rule is about.
    init?(_ rule: MergeRule?, ofSet isSet: Bool, from before: JSONValue?, to new: JSONValue?) {
        switch (rule, before, new) {
        case (.sum, .integer(let old)?, .integer(let new)?):
            let (difference, overflow) = new.subtractingReportingOverflow(old)
            guard !overflow else { return nil }
            self = .sum(.integer(difference))
        case (.sum, let old?, let new?):
            guard let old = old.number, let new = new.number, (new - old).isFinite else { return nil }
            self = .sum(.double(new - old))
        case (.append, nil, .array(let new)?):
            self = isSet ? .union(new) : .append(new)
        case (.append, .array(let old)?, .array(let new)?):
            if isSet {
                let known = Set(old)
                guard known.isSubset(of: new) else { return nil }
                self = .union(new.filter { !known.contains($0) })
            } else {
                guard new.count >= old.count, new.prefix(old.count) == old[...] else { return nil }
                self = .append(Array(new[old.count...]))
            }
        default:
            return nil
        }
    }

    /// What an operation does, if it can be told apart from what it was done to.
    init?(_ operation: InPlaceOperation) {
        switch operation {
        case .add(let amount): self = .sum(amount)
        case .append(let elements): self = .append(elements)
        case .concat(let text): self = .concat(text)
        case .toggle, .merge, .patch: return nil
        }
    }

    /// What the server can do by itself.
    var operation: InPlaceOperation? {
        switch self {
        case .sum(let amount): .add(amount)
        case .append(let elements): .append(elements)
        case .concat(let text): .concat(text)
        case .union: nil
        }
    }

    /// The change done to a value; nil if it is of another kind.
    func applied(to value: JSONValue) -> JSONValue? {
        guard case .union(let elements) = self else { return try? operation?.applied(to: value) }
        guard case .array(let there) = value else { return nil }
        let known = Set(there)
        return .array(there + elements.filter { !known.contains($0) })
    }

    /// A set that the change was done to, as sets are written; nil for anything else.
    func inCanonicalOrder(_ value: JSONValue) -> JSONValue? {
        guard case .union = self, case .array(let elements) = value else { return nil }
        return try? Set<JSONValue>.defaultsBridge.encode(Set(elements))
    }
}
