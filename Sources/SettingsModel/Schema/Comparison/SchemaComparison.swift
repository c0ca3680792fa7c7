extension Schema {
    /// What the schema of a program's key and this schema disagree on.
    func differences(
        from document: JSONObject, named name: String, isSecret: Bool
    ) -> [SchemaDifference] {
        guard let theirs = key(name) else {
            let meant = suggestions(for: name, limit: 1).first.map { "; did you mean \($0)?" } ?? ""
            return [SchemaDifference(name, .key, "the server's schema has no such key\(meant)")]
        }
        var ownReader = ValueFormReader(in: .object(document))
        var theirReader = ValueFormReader(in: self.document)
        var comparison = ValueFormComparison(key: name)
        comparison.compare(
            ownReader.form(of: .object(document)), theirReader.form(of: ruling(name, theirs)), at: nil)
        guard lists(name) else { return comparison.differences.filter { $0.aspect == .type } }
        var differences = comparison.differences
        if let detail = Self.defaults(document["default"], theirs, isSecret: isSecret || theirs.isSecret) {
            differences.append(SchemaDifference(name, .defaultValue, detail))
        }
        if isSecret != theirs.isSecret {
            let detail =
                isSecret
                ? "a secret for the program, none for the server" : "no secret for the program, one for the server"
            differences.append(SchemaDifference(name, .secrecy, detail))
        }
        return differences
    }

    /// The key's part of the document, with what patterns say of a listed key beside it.
    private func ruling(_ name: String, _ key: KeySchema) -> JSONValue {
        guard lists(name), let patterns = document["patternProperties"]?.object else { return key.document }
        var budget = SchemaValidator.mostSteps
        var documents = [key.document]
        for member in patterns {
            guard let pattern = try? Pattern(member.name), pattern.matches(name, budget: &budget) ?? false else {
                continue
            }
            documents.append(member.value)
        }
        return ["allOf": .array(documents)]
    }

    private static func defaults(_ own: JSONValue?, _ key: KeySchema, isSecret: Bool) -> String? {
        switch (own.map(key.normalized), key.defaultValue) {
        case (nil, nil): return nil
        case (let own?, let theirs?) where own.isMathematicallyEqual(to: theirs): return nil
        case (let own, let theirs):
            if isSecret { return "the program has another default than the server" }
            return "the default of the program is \(own?.briefPhrase ?? "none"), "
                + "that of the server \(theirs?.briefPhrase ?? "none")"
        }
    }
}

/// Compares two forms part by part.
struct ValueFormComparison {
    private let key: String
    private(set) var differences: [SchemaDifference] = []

    init(key: String) {
        self.key = key
    }

    /// Notes what differs between what the program allows and what the server does.
    mutating func compare(_ own: ValueForm, _ theirs: ValueForm, at place: String?) {
        // A side that says nothing of a value contradicts nothing; what was cut off is not known.
        if own == theirs || own.isAny || own.isCut || theirs.isCut { return }
        let common = own.types.intersection(theirs.types)
        if own.types != theirs.types {
            let areApart = common.isEmpty
            note(
                areApart ? .type : .limits, place, areApart ? "reads" : "takes", own.types.kinds,
                areApart ? "holds" : "", theirs.types.kinds)
            if areApart { return }
        }
        compareScalars(own, theirs, among: common, at: place)
        if common.contains(.array) { compareArrays(own, theirs, at: place) }
        if common.contains(.object) { compareObjects(own, theirs, at: place) }
        if own.choices != theirs.choices || own.rest != theirs.rest {
            differences.append(
                SchemaDifference(
                    key, at: place, .limits, "the program and the server combine other rules for its values"))
        }
    }

    private mutating func compareScalars(
        _ own: ValueForm, _ theirs: ValueForm, among kinds: JSONTypeSet, at place: String?
    ) {
        // What is listed says all that limits could.
        if own.listed != theirs.listed {
            return note(.limits, place, "allows", own.listPhrase, "", theirs.listPhrase)
        }
        if kinds.contains(.integer), own.numbers != theirs.numbers {
            let kind = kinds.contains(.number) ? "number" : "integer"
            note(.limits, place, "allows", own.numbers.phrase(of: kind), "", theirs.numbers.phrase(of: kind))
        }
        guard kinds.contains(.string) else { return }
        if own.strings.lengths != theirs.strings.lengths {
            note(
                .limits, place, "allows", own.strings.lengths.phrase(of: "character"), "",
                theirs.strings.lengths.phrase(of: "character"))
        }
        if own.strings.content != theirs.strings.content {
            note(.limits, place, "takes", own.strings.contentPhrase, "", theirs.strings.contentPhrase)
        }
    }

    private mutating func compareArrays(_ own: ValueForm, _ theirs: ValueForm, at place: String?) {
        if own.counts != theirs.counts {
            note(
                .limits, place, "allows", own.counts.phrase(of: "element"), "", theirs.counts.phrase(of: "element"))
        }
        if own.isUnique != theirs.isUnique {
            let phrases = own.isUnique ? ("once", "any number of times") : ("any number of times", "once")
            note(.limits, place, "takes an element", phrases.0, "", phrases.1)
        }
        guard own.arrays.count <= 1, theirs.arrays.count <= 1 else {
            if own.arrays != theirs.arrays { noteOthers(at: place, "elements") }
            return
        }
        let (own, theirs) = (own.arrays.first ?? ArrayForm(), theirs.arrays.first ?? ArrayForm())
        for index in 0..<max(own.first.count, theirs.first.count) {
            compare(own.form(at: index), theirs.form(at: index), at: inside(place, "element \(index)"))
        }
        compare(own.others, theirs.others, at: inside(place, "each element"))
    }

    private mutating func compareObjects(_ own: ValueForm, _ theirs: ValueForm, at place: String?) {
        guard own.objects.count <= 1, theirs.objects.count <= 1 else {
            if own.objects != theirs.objects { noteOthers(at: place, "members") }
            return
        }
        // An object of which nothing is said may be anything, as a value may.
        guard let own = own.objects.first else { return }
        let theirs = theirs.objects.first ?? ObjectForm()
        for name in Set(own.named.keys).union(theirs.named.keys).sorted() {
            compare(
                own.named[name] ?? own.others, theirs.named[name] ?? theirs.others,
                at: inside(place, "member \(name.string)"))
        }
        compare(own.others, theirs.others, at: inside(place, "other members"))
        if own.required != theirs.required {
            note(.limits, place, "requires", ObjectForm.phrase(own.required), "", ObjectForm.phrase(theirs.required))
        }
    }

    private func inside(_ place: String?, _ part: String) -> String {
        place.map { "\($0), \(part)" } ?? part
    }

    private mutating func note(
        _ aspect: SchemaDifference.Aspect, _ place: String?, _ verb: String, _ own: String, _ theirVerb: String,
        _ theirs: String
    ) {
        let other = theirVerb.isEmpty ? theirs : "\(theirVerb) \(theirs)"
        // What is inside a value does not make the whole of it unreadable: an array may be empty.
        let aspect = aspect == .type && place != nil ? .limits : aspect
        differences.append(SchemaDifference(key, at: place, aspect, "the program \(verb) \(own), the server \(other)"))
    }

    private mutating func noteOthers(at place: String?, _ parts: String) {
        differences.append(
            SchemaDifference(key, at: place, .limits, "the program and the server have other rules for its \(parts)"))
    }
}
