/// What becomes of a change in place (`+= 1`, `append`) when somebody else has changed the value since it was read.
public enum MergeRule: String, Hashable, Sendable {
    /// What was added to the number is added to what it is by then.
    case sum
    /// The elements that were added go at the end of what is there by then; into a set, beside them.
    case append
}

/// The rule of a key for values of one type: `merge: .sum` on numbers, `merge: .append` on arrays and sets.
///
/// A rule that the type cannot follow does not compile.
public struct MergePolicy<Value: DefaultsSerializable>: Hashable, Sendable {
    /// The rule.
    public let rule: MergeRule

    private init(_ rule: MergeRule) {
        self.rule = rule
    }
}

extension MergePolicy where Value: NumericSetting {
    /// Adds what was added, so that none of two programs that count loses anything.
    public static var sum: MergePolicy {
        MergePolicy(.sum)
    }
}

extension MergePolicy where Value: CollectionSetting {
    /// Appends what was appended.
    public static var append: MergePolicy {
        MergePolicy(.append)
    }
}

extension MergePolicy {
    /// Only numbers have a sum.
    @available(*, unavailable, message: "only a number can be merged as a sum")
    @_disfavoredOverload
    public static var sum: MergePolicy {
        // Nothing that compiles can call this.
        fatalError("unavailable")
    }

    /// Only arrays and sets can be appended to.
    @available(*, unavailable, message: "only an array or a set can be appended to")
    @_disfavoredOverload
    public static var append: MergePolicy {
        // Nothing that compiles can call this.
        fatalError("unavailable")
    }
}
