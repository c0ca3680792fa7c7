/// What a key says beside name, type and default, in one object: so a key is little to copy, and one that was made once is
/// known again by it.
///
/// It is made with its key and belongs to no other, save copies of that.
@usableFromInline
package final class KeyRules: Sendable {
    let limits: KeyLimits
    let traits: KeyTraits

    /// Nil if nothing is said, as of most keys.
    init?(limits: KeyLimits, traits: KeyTraits, isLimitedToList: Bool) {
        guard !limits.isEmpty || !traits.isEmpty || isLimitedToList else { return nil }
        self.limits = limits
        self.traits = traits
    }

    /// Whether both say the same.
    static func areSame(_ one: KeyRules?, _ other: KeyRules?) -> Bool {
        if one === other { return true }
        guard let one, let other else { return false }
        return one.limits == other.limits && one.traits == other.traits
    }
}
