internal import SettingsAPI
internal import SettingsModel

/// What a commit that is kept takes of memory.
///
/// Often several times what it takes in the journal, where what is not there takes no room and nothing has a header.
/// Counted as if nothing were shared with other commits or with what is stored: after a restart nothing is.
extension Commit {
    /// About how many bytes of memory the commit takes, with all that it holds.
    var weight: Int {
        var weight = Weight.allocation + MemoryLayout<Commit>.stride
        weight += Weight.array(of: Change.self, changes.count) + Weight.array(of: SuiteChange.self, suiteChanges.count)
        for text in [author, requestKey?.text, requestDigest] { weight += text.map(Weight.text) ?? 0 }
        for change in changes { weight += change.weight }
        for change in suiteChanges { weight += change.weight }
        if case .setting(let setting)? = answer {
            weight += Weight.text(setting.suite.text) + Weight.text(setting.key.text)
            weight += (setting.value?.weight ?? 0) + (setting.previous?.value?.weight ?? 0)
        }
        return weight
    }
}

extension Change {
    /// What the change holds beyond its place in the commit.
    fileprivate var weight: Int {
        var weight = Weight.text(suite.text) + Weight.text(key.text)
        for value in [old, new, record.oldRejected, record.rejected] { weight += value?.weight ?? 0 }
        return weight
    }
}

extension SuiteChange {
    /// What the change holds beyond its place in the commit.
    fileprivate var weight: Int {
        var weight = Weight.text(suite.text) + (replaced?.document.weight ?? 0)
        for text in [schemaText, replaced?.text] { weight += text.map(Weight.text) ?? 0 }
        if case .schemaSet(_, let document) = kind { weight += document.weight }
        return weight
    }
}

extension JSONValue {
    /// What the value holds beyond its own place. Recursion follows nesting, which is bounded.
    fileprivate var weight: Int {
        switch self {
        case .null, .bool, .integer, .double: 0
        case .string(let text): Weight.text(text)
        case .array(let elements):
            elements.reduce(Weight.array(of: JSONValue.self, elements.count)) { $0 + $1.weight }
        case .object(let object):
            object.members.reduce(Weight.array(of: JSONObject.Member.self, object.count)) {
                $0 + Weight.text($1.name) + $1.value.weight
            }
        }
    }
}

/// What things take that are allocated.
private enum Weight {
    /// The header of an object, and what the allocator adds.
    static let allocation = 48

    static func array<Element>(of element: Element.Type, _ count: Int) -> Int {
        count == 0 ? 0 : allocation + count * MemoryLayout<Element>.stride
    }

    /// Up to fifteen bytes stand where the string does; more are allocated, by sixteens.
    static func text(_ text: String) -> Int {
        let count = text.utf8.count
        return count <= 15 ? 0 : allocation + (count / 16 + 1) * 16
    }
}
