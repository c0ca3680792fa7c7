public import SettingsModel

/// A JSON Patch (RFC 6902): steps that change a value one after another. Either all steps succeed, or the value does
/// not change.
public struct JSONPatch: Equatable, Sendable {
    /// One step.
    public enum Step: Equatable, Sendable {
        /// Sets a member, inserts an element, or replaces the whole value.
        case add(JSONPointer, JSONValue)
        /// Removes an existing member or element.
        case remove(JSONPointer)
        /// Replaces an existing value.
        case replace(JSONPointer, JSONValue)
        /// Removes the value at one position, and adds it at another position.
        case move(from: JSONPointer, to: JSONPointer)
        /// Adds the value of one position at another position.
        case copy(from: JSONPointer, to: JSONPointer)
        /// Fails the patch unless the value at the position is mathematically equal to this value.
        case test(JSONPointer, JSONValue)
    }

    /// The steps in order.
    public var steps: [Step]

    /// Makes a patch.
    public init(_ steps: [Step]) {
        self.steps = steps
    }
}

extension JSONPatch: JSONReadable, JSONWritable {
    package init(json: JSONValue) throws(BodyError) {
        steps = try [Step](json: json)
    }

    package func write(to writer: inout JSONWriter) {
        steps.write(to: &writer)
    }
}

extension JSONPatch.Step {
    /// The names of the operations of steps in JSON.
    enum Word: String, BodyWord {
        case add, remove, replace, move, copy, test
    }

    var word: Word {
        switch self {
        case .add: .add
        case .remove: .remove
        case .replace: .replace
        case .move: .move
        case .copy: .copy
        case .test: .test
        }
    }

    var path: JSONPointer {
        switch self {
        case .add(let path, _), .remove(let path), .replace(let path, _), .move(_, let path), .copy(_, let path),
            .test(let path, _):
            path
        }
    }
}

extension JSONPatch.Step: JSONBody {
    package init(_ reader: ObjectReader) throws(BodyError) {
        let word: Word = try reader.required("op")
        let path: JSONPointer = try reader.required("path")
        self =
            switch word {
            case .add: .add(path, try reader.required("value"))
            case .remove: .remove(path)
            case .replace: .replace(path, try reader.required("value"))
            case .move: .move(from: try reader.required("from"), to: path)
            case .copy: .copy(from: try reader.required("from"), to: path)
            case .test: .test(path, try reader.required("value"))
            }
    }

    package func writeMembers(to writer: inout JSONWriter) {
        writer.member("op", word.rawValue)
        switch self {
        case .move(let from, _), .copy(let from, _): writer.member("from", from)
        case .add, .remove, .replace, .test: break
        }
        writer.member("path", path)
        switch self {
        case .add(_, let value), .replace(_, let value), .test(_, let value): writer.member("value", value)
        case .remove, .move, .copy: break
        }
    }
}

extension JSONPatch {
    /// The maximum work of a patch. A copied value costs one unit of work, plus one unit for each eight bytes of its
    /// text. A value that an insertion or a removal shifts costs a fraction of a unit. Without a limit, a few dozen
    /// steps that each double a value would exhaust the memory.
    package static let maximumWork = 4_000_000

    /// Returns the value after all steps. The error names the step that failed.
    package func applied(to value: JSONValue) throws(OperationError) -> JSONValue {
        var run = PatchRun(value)
        for (index, step) in steps.enumerated() {
            do {
                try run.perform(step)
            } catch {
                throw error.inStep(index, step)
            }
        }
        return run.value
    }
}

/// The execution of a patch on its own copy of a value.
private struct PatchRun {
    private(set) var value: JSONValue
    private var remainingWork = JSONPatch.maximumWork

    init(_ value: JSONValue) {
        self.value = value
    }

    mutating func perform(_ step: JSONPatch.Step) throws(OperationError) {
        switch step {
        case .add(let path, let new):
            try checkDepth(of: new, at: path)
            try put(new, at: path, replacing: false)
        case .remove(let path):
            try put(nil, at: path, replacing: true)
        case .replace(let path, let new):
            try checkDepth(of: new, at: path)
            try put(new, at: path, replacing: true)
        case .move(let from, let path):
            try move(from: from, to: path)
        case .copy(let from, let path):
            let copied = try source(from)
            try chargeCopy(of: copied, at: path)
            try put(copied, at: path, replacing: false)
        case .test(let path, let expected):
            try test(path, expected)
        }
    }

    /// Sets a member or inserts an element. With `replacing`, replaces an existing value, or removes it if `new` is
    /// nil.
    private mutating func put(_ new: JSONValue?, at path: JSONPointer, replacing: Bool) throws(OperationError) {
        guard !path.tokens.isEmpty else {
            guard let new else { throw OperationError("the whole value cannot be removed") }
            value = new
            return
        }
        let work = try value.editParent(path.tokens[...]) { parent, token throws(OperationError) in
            if var elements = parent.takeArray() {
                let index = try JSONValue.index(token, count: elements.count, forInsertion: !replacing)
                let replacesElement = new != nil && replacing
                elements.replaceSubrange(index..<(replacing ? index + 1 : index), with: [new].compactMap(\.self))
                parent = .array(elements)
                return replacesElement ? 0 : (elements.count - index) / Self.elementsShiftedPerUnit
            }
            guard var object = parent.takeObject() else { throw parent.noChildren }
            if replacing && object[token] == nil { throw JSONValue.noMember(token, in: object) }
            object[token] = new
            parent = .object(object)
            return new == nil ? object.count / Self.membersShiftedPerUnit : 0
        }
        try spend(work)
    }

    private mutating func move(from: JSONPointer, to path: JSONPointer) throws(OperationError) {
        guard from != path else {
            _ = try source(from)
            return
        }
        if path.tokens.count > from.tokens.count, JSONPointer(Array(path.tokens.prefix(from.tokens.count))) == from {
            throw OperationError("a value cannot be moved into itself")
        }
        let moved = try source(from)
        if !from.tokens.isEmpty { try put(nil, at: from, replacing: true) }
        // A move to a longer path can exceed the maximum depth, so the depth is checked. The check visits the whole
        // moved value, so it costs as much as a copy.
        if path.tokens.count > from.tokens.count { try chargeCopy(of: moved, at: path) }
        try put(moved, at: path, replacing: false)
    }

    private func source(_ from: JSONPointer) throws(OperationError) -> JSONValue {
        do {
            return try value.found(at: from)
        } catch {
            throw error.takingFrom(from)
        }
    }

    private func test(_ path: JSONPointer, _ expected: JSONValue) throws(OperationError) {
        let actual: JSONValue
        do {
            actual = try value.found(at: path)
        } catch {
            throw OperationError(error.detail, withoutValues: error.detailWithoutValues, kind: .testFailed)
        }
        guard !actual.isMathematicallyEqual(to: expected) else { return }
        throw OperationError(
            "expected \(Self.phrase(for: expected)), found \(Self.phrase(for: actual))",
            withoutValues: "found another value", kind: .testFailed)
    }

    /// Describes a short scalar by its value, and any other value by its type.
    private static func phrase(for value: JSONValue) -> String {
        switch value {
        case .string(let text): text.utf8.count <= 40 ? value.text() : "a longer string"
        case .array, .object: value.kindPhrase
        case .null, .bool, .integer, .double: value.text()
        }
    }
}

/// The limits of nesting and of work.
extension PatchRun {
    /// The numbers of shifted elements and members that cost one unit of work. Members cost more, because a removal
    /// from an object also changes the index of its names.
    private static let elementsShiftedPerUnit = 16
    private static let membersShiftedPerUnit = 4

    /// The number of levels that a value at this path may have.
    private func levels(below path: JSONPointer) -> Int {
        JSONValue.maximumDepth - path.tokens.count
    }

    private func checkDepth(of new: JSONValue, at path: JSONPointer) throws(OperationError) {
        guard new.isNested(atMost: levels(below: path)) else { throw .tooDeep }
    }

    private mutating func chargeCopy(of copied: JSONValue, at path: JSONPointer) throws(OperationError) {
        guard levels(below: path) >= 0 else { throw .tooDeep }
        do {
            try copied.measure(levels: levels(below: path), subtractingFrom: &remainingWork)
        } catch {
            throw error == .depth ? .tooDeep : Self.tooMuch
        }
    }

    private mutating func spend(_ work: Int) throws(OperationError) {
        remainingWork -= work
        guard remainingWork >= 0 else { throw Self.tooMuch }
    }

    private static let tooMuch = OperationError(
        "the patch copies or moves more than \(JSONPatch.maximumWork) values or \(8 * JSONPatch.maximumWork) bytes; "
            + "send several smaller patches"
    )
}
