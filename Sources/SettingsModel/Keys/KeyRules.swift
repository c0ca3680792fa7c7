/// What a key says beside name, type and default, in one object: so a key is little to copy, and one that was made once is
/// known again by it.
///
/// It is made with its key and belongs to no other, save copies of that.
@usableFromInline
package final class KeyRules: Sendable {
    let limits: KeyLimits
    let traits: KeyTraits
    private let hasTraits: Bool
    /// Whether the key lists what is allowed, which is not here: values know themselves whether they are equal.
    let isLimitedToList: Bool

    /// Nil if nothing is said, as of most keys.
    init?(limits: KeyLimits, traits: KeyTraits, isLimitedToList: Bool) {
        guard !limits.isEmpty || !traits.isEmpty || isLimitedToList else { return nil }
        self.limits = limits
        self.traits = traits
        hasTraits = !traits.isEmpty
        self.isLimitedToList = isLimitedToList
    }

    /// Whether two keys say the same but for the values that they list, if they do.
    static func areSame(_ one: KeyRules?, _ other: KeyRules?) -> Bool {
        if one === other { return true }
        guard let one, let other else { return false }
        guard one.isLimitedToList == other.isLimitedToList, one.hasTraits == other.hasTraits else { return false }
        return one.limits == other.limits && (!one.hasTraits || one.traits == other.traits)
    }

    /// Whether two keys are sure to say the same. If not, they may nevertheless: lists would have to be compared.
    package static func areSurelySame(_ one: KeyRules?, _ other: KeyRules?) -> Bool {
        areSame(one, other) && (one === other || one?.isLimitedToList != true)
    }
}
