/// Counted things in a sentence.
enum Plural {
    /// `1 character`, `2 characters`.
    static func count(_ count: Int, _ noun: String) -> String {
        count == 1 ? "1 \(noun)" : "\(count) \(noun)s"
    }
}
