internal import SettingsAPI
internal import SettingsModel

extension JSONValue {
    /// The approximate number of bytes of heap memory that the value takes, in addition to the inline size of a
    /// `JSONValue`. The recursion is bounded, because the parser limits the nesting of values.
    var memorySize: Int {
        switch self {
        case .null, .bool, .integer, .double: return 0
        case .string(let text): return MemorySize.text(text)
        case .array(let elements):
            var memorySize = MemorySize.array(of: JSONValue.self, elements.count)
            let span = elements.span
            for index in span.indices where !span[index].isStoredInline { memorySize += span[index].memorySize }
            return memorySize
        case .object(let object):
            var memorySize = MemorySize.array(of: JSONObject.Member.self, object.count)
            let span = object.members.span
            for index in span.indices {
                memorySize += MemorySize.text(span[index].name)
                if !span[index].value.isStoredInline { memorySize += span[index].value.memorySize }
            }
            return memorySize
        }
    }

    /// True if the value takes no heap memory. This is true for most elements of a large value.
    var isStoredInline: Bool {
        switch self {
        case .null, .bool, .integer, .double: true
        case .string, .array, .object: false
        }
    }
}

/// Estimates of the heap memory of the objects of a state, in bytes. A state is all suites (named sets of settings).
/// The quotas limit the total size of a state.
enum MemorySize {
    /// The size of the header of a Swift object, plus the overhead of the allocator.
    static let allocation = 48

    static func array<Element>(of element: Element.Type, _ count: Int) -> Int {
        count == 0 ? 0 : allocation + count * MemoryLayout<Element>.stride
    }

    /// A string stores up to 15 bytes inline. A longer string has an allocation whose size is a multiple of 16 bytes.
    static func text(_ text: String?) -> Int {
        let count = text?.utf8.count ?? 0
        return count <= 15 ? 0 : allocation + (count / 16 + 1) * 16
    }
}

extension MemorySize {
    /// The size of a setting without its value and without its origin (the caller and the note of its last commit).
    static func setting(_ key: KeyName) -> Int { MemoryLayout<KeyRecord>.stride + text(key.text) }

    /// The size of a suite without a schema and without settings.
    static func suite(_ name: SuiteName) -> Int { emptySuite + text(name.text) }

    /// The size of a schema in its original and in its compiled form. `text` is the text from which the schema was
    /// parsed; nil if rendering the document gives the same text.
    static func schema(_ document: JSONValue, _ text: String?) -> Int {
        compiledSchemaFactor * document.memorySize + MemorySize.text(text)
    }

    /// The bytes of a `Suite`, of the first leaf of its tree of settings, and of its `SuiteLog` (its recent commits in
    /// memory).
    private static let emptySuite = 1024
    /// The original and the compiled form of a schema together take about four times the memory of the JSON document.
    private static let compiledSchemaFactor = 4
}

extension Schema {
    /// The approximate number of bytes of memory that the schema takes.
    var memorySize: Int { MemorySize.schema(document, text) }
}

extension CommitOrigin {
    /// The approximate number of bytes of memory that the origin (the caller and the note) takes. The size of each
    /// commit and of each setting includes its origin, although several commits and settings may share one origin,
    /// because few of them share an origin after a restart.
    var memorySize: Int { 2 * MemorySize.allocation + MemorySize.text(by) + MemorySize.text(note) }
}
