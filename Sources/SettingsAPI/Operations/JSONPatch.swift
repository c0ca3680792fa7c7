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
