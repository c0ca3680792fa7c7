/// Leaving out what means nothing, so that one meaning has one form.
extension ValueForm {
    /// The form without rules about values that are not allowed anyway.
    func reduced() -> ValueForm {
        var form = self
        form.reduceList()
        if !form.types.contains(.integer) { form.numbers = NumberForm() }
        if form.types.contains(.integer) { form.numbers.reduce(areIntegers: !form.types.contains(.number)) }
        if !form.types.contains(.string) { form.strings = StringForm() }
        if !form.types.contains(.array) {
            form.counts = CountForm()
            form.isUnique = false
            form.arrays = []
        }
        if !form.types.contains(.object) { form.objects = [] }
        return form
    }

    /// Lists only what the other rules allow, as far as they are simple; a list says the rest by itself.
    private mutating func reduceList() {
        guard var values = listed else { return }
        values = values.filter {
            types.admits($0.value) && numbers.admits($0.value) && strings.lengths.admits($0.value)
        }
        types = values.reduce(JSONTypeSet([])) { $0.union(JSONTypeSet(of: $1.value)) }
        numbers = NumberForm()
        strings.lengths = CountForm()
        listed = values
        // Truth values and null have no others of their kind.
        if values == [MathematicalJSON(true), MathematicalJSON(false)] || values == [MathematicalJSON(.null)] {
            listed = nil
        }
        if values.isEmpty { self = .none }
    }
}

extension NumberForm {
    /// Takes limits away that every number lies within, and gives integers limits that are integers.
    mutating func reduce(areIntegers: Bool) {
        if areIntegers {
            least = least.flatMap { Self.integerLimit($0, rounding: .up, step: 1) }
            greatest = greatest.flatMap { Self.integerLimit($0, rounding: .down, step: -1) }
            steps.remove(.integer(1))
        }
        if let limit = least, !JSONNumber.double(-.greatestFiniteMagnitude).isLess(than: limit.number) { least = nil }
        if let limit = greatest, !limit.number.isLess(than: .double(.greatestFiniteMagnitude)) { greatest = nil }
    }

    private static func integerLimit(
        _ limit: Limit, rounding rule: FloatingPointRoundingRule, step: Int64
    ) -> Limit? {
        let integer: Int64
        switch limit.number {
        case .integer(let value):
            let (next, overflow) = value.addingReportingOverflow(step)
            if overflow, !limit.isIncluded { return limit }
            integer = limit.isIncluded ? value : next
        case .double(let value):
            // A limit beyond every integer limits none; the other kind, which allows none, is left as it is.
            guard let value = Int64(exactly: value.rounded(rule)) else {
                return (value < 0) == (step > 0) ? nil : limit
            }
            integer = value
        }
        if integer == (step > 0 ? Int64.min : .max), limit.isIncluded { return nil }
        return Limit(number: .integer(integer), isIncluded: true)
    }

    func admits(_ value: JSONValue) -> Bool {
        guard let number = JSONNumber(value) else { return true }
        if let least, number.isLess(than: least.number) || number == least.number && !least.isIncluded { return false }
        if let greatest, greatest.number.isLess(than: number) || number == greatest.number && !greatest.isIncluded {
            return false
        }
        return true
    }
}

extension CountForm {
    /// Whether a text has as many characters.
    func admits(_ value: JSONValue) -> Bool {
        guard let count = value.string?.unicodeScalars.count else { return true }
        return count >= least && count <= greatest ?? .max
    }
}

extension ValueForm {
    /// What any of some forms allows, if one form can say that: there is one, or they are about different kinds of
    /// values.
    init?(uniting forms: [ValueForm]) {
        if let form = forms.first, forms.allSatisfy({ $0 == form }) {
            self = form
            return
        }
        var union = ValueForm.none
        for form in forms {
            guard union.types.isDisjoint(with: form.types), form.isPlain else { return nil }
            union.types.formUnion(form.types)
            if form.types.contains(.integer) { union.numbers = form.numbers }
            if form.types.contains(.string) { union.strings = form.strings }
            if form.types.contains(.array) {
                union.counts = form.counts
                union.isUnique = form.isUnique
                union.arrays = form.arrays
            }
            if form.types.contains(.object) { union.objects = form.objects }
        }
        if forms.isEmpty { return nil }
        self = union
    }

    /// Whether all rules are about one kind of values each.
    private var isPlain: Bool {
        listed == nil && choices.isEmpty && rest.isEmpty && !isCut
    }
}
