/// Forms in sentences.
extension JSONTypeSet {
    /// The kinds in a sentence: `an integer or null`.
    var kinds: String {
        if self == .all { return "any value" }
        if isEmpty { return "nothing" }
        return (contains(.number) ? subtracting(.integer) : self).phrase
    }
}

extension ValueForm {
    /// What is listed, or what kinds of values there are if nothing is.
    var listPhrase: String {
        guard let listed else { return types == .all ? "any value" : "\(types.kinds) of any value" }
        let values = listed.map(\.value).sorted { $0.precedesCanonically($1) }
        let most = 12
        let shown = values.prefix(most).map(\.briefPhrase).joined(separator: ", ")
        return values.count > most ? "\(shown) and \(values.count - most) more" : shown
    }
}

extension NumberForm {
    /// The range as Swift writes it, if it has such a form: `0...1`, `..<10`.
    func phrase(of kind: String) -> String {
        let steps = steps.map(Self.text).sorted().map { "multiples of \($0)" }
        let parts = [range].compactMap { $0 } + steps
        return parts.isEmpty ? "any \(kind)" : parts.joined(separator: " and ")
    }

    private var range: String? {
        switch (least, greatest) {
        case (nil, nil): nil
        case (let least?, nil) where least.isIncluded: "\(Self.text(least.number))..."
        case (let least?, nil): "more than \(Self.text(least.number))"
        case (nil, let greatest?): (greatest.isIncluded ? "..." : "..<") + Self.text(greatest.number)
        case (let least?, let greatest?) where least.isIncluded:
            Self.text(least.number) + (greatest.isIncluded ? "..." : "..<") + Self.text(greatest.number)
        case (let least?, let greatest?):
            "more than \(Self.text(least.number)) and \(greatest.isIncluded ? "up to" : "less than") "
                + Self.text(greatest.number)
        }
    }

    private static func text(_ number: JSONNumber) -> String {
        switch number {
        case .integer(let integer): String(integer)
        case .double(let double): JSONValue.double(double).description
        }
    }
}

extension CountForm {
    func phrase(of thing: String) -> String {
        switch (least, greatest) {
        case (0, nil): "any number of \(thing)s"
        case (0, let greatest?): "at most \(Plural.count(greatest, thing))"
        case (let least, nil): "at least \(Plural.count(least, thing))"
        case (let least, let greatest?): "\(least) to \(Plural.count(greatest, thing))"
        }
    }
}

extension StringForm {
    /// The form without its lengths.
    var content: StringForm {
        var content = self
        content.lengths = CountForm()
        return content
    }

    var contentPhrase: String {
        var parts = formats.map(\.string).sorted().map { "text of the format \($0)" }
        if isBase64 { parts.append("Base64 text") }
        parts += patterns.map(\.string).sorted().map { "text that matches \($0)" }
        return parts.isEmpty ? "any text" : parts.joined(separator: " and ")
    }
}

extension ArrayForm {
    func form(at index: Int) -> ValueForm {
        index < first.count ? first[index] : others
    }
}

extension ObjectForm {
    static func phrase(_ required: Set<UTF8Text>) -> String {
        required.isEmpty ? "no member" : required.sorted().map(\.string).joined(separator: ", ")
    }
}
