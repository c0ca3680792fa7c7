public import SettingsModel

/// A JSON Patch (RFC 6902): steps that change a value one after the other, all or none of them.
public struct JSONPatch: Hashable, Sendable {
    /// One step.
    public enum Step: Hashable, Sendable {
        /// Sets a member, inserts an element, or replaces the whole value.
        case add(JSONPointer, JSONValue)
        /// Removes a member or an element that is there.
        case remove(JSONPointer)
        /// Puts another value in the place of one that is there.
        case replace(JSONPointer, JSONValue)
        /// Removes at one place and adds at another.
        case move(from: JSONPointer, to: JSONPointer)
        /// Adds at one place what is at another.
        case copy(from: JSONPointer, to: JSONPointer)
        /// Fails the patch unless the value there is mathematically equal.
        case test(JSONPointer, JSONValue)
    }

    /// The steps in their order.
    public var steps: [Step]

    /// A patch.
    public init(_ steps: [Step]) {
        self.steps = steps
    }
}

extension JSONPatch: JSONReadable, JSONWritable {
    /// Reads the array of steps.
    public init(json: JSONValue) throws(BodyError) {
        steps = try BodyValue.list(json)
    }

    /// Writes the array of steps.
    public func write(to writer: inout JSONWriter) {
        writer.write(steps)
    }
}

extension JSONPatch.Step {
    enum Word: String, CaseIterable {
        case add
        case remove
        case replace
        case move
        case copy
        case test
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

    /// Where the step works.
    var path: JSONPointer {
        switch self {
        case .add(let path, _), .remove(let path), .replace(let path, _), .move(_, let path), .copy(_, let path),
            .test(let path, _):
            path
        }
    }
}

extension JSONPatch.Step: JSONReadable, JSONWritable {
    /// Reads one step. Members that the step does not have are ignored, as RFC 6902 demands.
    public init(json: JSONValue) throws(BodyError) {
        let reader = try ObjectReader(json)
        let word: Word = try reader.required("op") { json throws(BodyError) in try BodyValue.word("op", json) }
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

    /// Writes one step.
    public func write(to writer: inout JSONWriter) {
        writer.beginObject()
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
        writer.endObject()
    }
}

extension JSONPatch {
    /// How much a patch may copy and shift: a weight of one for each value copied and each eight bytes of its text,
    /// and a fraction of one for each neighbour that an insertion or a removal shifts. Without it a few dozen copies
    /// that double a value would fill any memory.
    public static let maximumWork = 4_000_000

    /// The value after all steps; an error names the step that failed, and the value is as it was.
    public func applied(to value: JSONValue) throws(OperationError) -> JSONValue {
        var run = PatchRun(value)
        for (index, step) in steps.enumerated() {
            do {
                try run.take(step)
            } catch {
                throw error.inStep(index, step)
            }
        }
        return run.value
    }
}

/// A patch at work on a value of its own.
private struct PatchRun {
    private(set) var value: JSONValue
    private var allowance = JSONPatch.maximumWork

    init(_ value: JSONValue) {
        self.value = value
    }

    mutating func take(_ step: JSONPatch.Step) throws(OperationError) {
        switch step {
        case .add(let path, let new):
            try checkDepth(of: new, at: path)
            try add(new, at: path)
        case .remove(let path):
            try remove(at: path)
        case .replace(let path, let new):
            try checkDepth(of: new, at: path)
            try replace(at: path, with: new)
        case .move(let from, let path):
            try move(from: from, to: path)
        case .copy(let from, let path):
            let copied = try source(from)
            try weigh(copied, at: path)
            try add(copied, at: path)
        case .test(let path, let expected):
            try test(path, expected)
        }
    }

    private mutating func add(_ new: JSONValue, at path: JSONPointer) throws(OperationError) {
        guard !path.tokens.isEmpty else {
            value = new
            return
        }
        let shifted = try value.editParent(path.tokens[...]) { parent, token throws(OperationError) in
            if var elements = parent.takeArray() {
                let index = try JSONValue.insertionIndex(token, count: elements.count)
                elements.insert(new, at: index)
                parent = .array(elements)
                return elements.count - index
            }
            guard var object = parent.takeObject() else { throw parent.noChildren }
            object[token] = new
            parent = .object(object)
            return 0
        }
        try spend(shifted / Self.elementsShiftedForOne)
    }

    private mutating func remove(at path: JSONPointer) throws(OperationError) {
        guard !path.tokens.isEmpty else { throw OperationError("the whole value cannot be removed") }
        let work = try value.editParent(path.tokens[...]) { parent, token throws(OperationError) in
            if var elements = parent.takeArray() {
                let index = try JSONValue.index(token, count: elements.count)
                elements.remove(at: index)
                parent = .array(elements)
                return (elements.count - index) / Self.elementsShiftedForOne
            }
            guard var object = parent.takeObject() else { throw parent.noChildren }
            guard object[token] != nil else { throw JSONValue.noMember(token, in: object) }
            object[token] = nil
            parent = .object(object)
            return object.count / Self.membersShiftedForOne
        }
        try spend(work)
    }

    private mutating func replace(at path: JSONPointer, with new: JSONValue) throws(OperationError) {
        guard !path.tokens.isEmpty else {
            value = new
            return
        }
        try value.editParent(path.tokens[...]) { parent, token throws(OperationError) in
            if var elements = parent.takeArray() {
                elements[try JSONValue.index(token, count: elements.count)] = new
                parent = .array(elements)
                return
            }
            guard var object = parent.takeObject() else { throw parent.noChildren }
            guard object[token] != nil else { throw JSONValue.noMember(token, in: object) }
            object[token] = new
            parent = .object(object)
        }
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
        if !from.tokens.isEmpty { try remove(at: from) }
        if path.tokens.count > from.tokens.count { try weigh(moved, at: path) }
        try add(moved, at: path)
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

    /// A short scalar as it is, anything else by its kind.
    private static func phrase(for value: JSONValue) -> String {
        switch value {
        case .string(let text): text.utf8.count <= 40 ? value.text() : "a longer string"
        case .array, .object: value.kindPhrase
        case .null, .bool, .integer, .double: value.text()
        }
    }
}

/// The bounds: how deep a result may be, and how much work a patch may cause.
extension PatchRun {
    /// Removing from an array moves its tail in memory; removing from an object also looks at every name again.
    private static let elementsShiftedForOne = 16
    private static let membersShiftedForOne = 4

    private func levels(below path: JSONPointer) -> Int {
        JSONValue.maximumDepth - path.tokens.count
    }

    private func checkDepth(of new: JSONValue, at path: JSONPointer) throws(OperationError) {
        guard new.isNested(atMost: levels(below: path)) else { throw .tooDeep }
    }

    private mutating func weigh(_ copied: JSONValue, at path: JSONPointer) throws(OperationError) {
        guard levels(below: path) >= 0 else { throw .tooDeep }
        do {
            try copied.weigh(levels: levels(below: path), allowance: &allowance)
        } catch {
            throw error == .depth ? .tooDeep : Self.tooMuch
        }
    }

    private mutating func spend(_ work: Int) throws(OperationError) {
        allowance -= work
        guard allowance >= 0 else { throw Self.tooMuch }
    }

    private static let tooMuch = OperationError(
        "the patch copies or shifts more than one may: \(JSONPatch.maximumWork) values, or that many times 8 bytes")
}
