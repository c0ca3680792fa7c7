internal import SettingsAPI
internal import SettingsModel

extension JSONValue {
    /// The memory that the value takes beyond its own place. Recursion follows nesting, which is bounded.
    var memorySize: Int {
        switch self {
        case .null, .bool, .integer, .double: return 0
        case .string(let text): return MemorySize.text(text)
        case .array(let elements):
            var memorySize = MemorySize.array(of: JSONValue.self, elements.count)
            let span = elements.span
            for index in span.indices where !span[index].isPlain { memorySize += span[index].memorySize }
            return memorySize
        case .object(let object):
            var memorySize = MemorySize.array(of: JSONObject.Member.self, object.count)
            let span = object.members.span
            for index in span.indices {
                memorySize += MemorySize.text(span[index].name)
                if !span[index].value.isPlain { memorySize += span[index].value.memorySize }
            }
            return memorySize
        }
    }

    /// True if the value takes no memory beyond its own place. Most of the elements of a large value do not.
    var isPlain: Bool {
        switch self {
        case .null, .bool, .integer, .double: true
        case .string, .array, .object: false
        }
    }
}

/// The memory that parts of a value take.
enum MemorySize {
    /// The header of an object, and what the allocator adds.
    static let allocation = 48

    static func array<Element>(of element: Element.Type, _ count: Int) -> Int {
        count == 0 ? 0 : allocation + count * MemoryLayout<Element>.stride
    }

    /// Up to fifteen bytes stand in the string itself; more are allocated, by sixteens.
    static func text(_ text: String?) -> Int {
        let count = text?.utf8.count ?? 0
        return count <= 15 ? 0 : allocation + (count / 16 + 1) * 16
    }
}

/// What counts for the quotas: about the memory that it takes, so that they keep a machine from running out of it.
extension MemorySize {
    /// About the bytes that a setting takes beside its value and its origin.
    static func setting(_ key: KeyName) -> Int { MemoryLayout<KeyRecord>.stride + text(key.text) }

    /// About the bytes that an open suite without settings takes.
    static func suite(_ name: SuiteName) -> Int { bareSuite + text(name.text) }

    /// About the bytes that a schema takes, as it was sent and compiled.
    static func schema(_ document: JSONValue, _ text: String?) -> Int {
        compiled * document.memorySize + MemorySize.text(text)
    }

    /// The suite, its first leaf, and its log in the history.
    private static let bareSuite = 1024
    /// The compiled form of a schema takes some times as much as its document.
    private static let compiled = 4
}

extension Schema {
    /// About the bytes of memory that the schema takes.
    var memorySize: Int { MemorySize.schema(document, text) }
}

extension CommitOrigin {
    /// About the bytes of memory that the origin takes. Counted for each commit and each setting that has it, since after
    /// some commits and a restart few share one.
    var memorySize: Int { 2 * MemorySize.allocation + MemorySize.text(by) + MemorySize.text(note) }
}
