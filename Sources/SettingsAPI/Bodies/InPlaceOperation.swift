public import SettingsModel

/// A change that the daemon makes to the effective value of one setting, so that nobody has to read it first.
public enum InPlaceOperation: Hashable, Sendable {
    /// Adds to a number.
    case add(Amount)
    /// Adds elements at the end of an array.
    case append([JSONValue])
    /// Adds text at the end of a string.
    case concat(String)
    /// Turns true to false and back.
    case toggle
    /// Merges into the value as RFC 7396 says.
    case merge(JSONValue)
    /// Takes the steps of a JSON Patch, all or none.
    case patch(JSONPatch)

    /// What is added to a number. Two integers give an integer, anything else a floating-point number.
    public enum Amount: Hashable, Sendable {
        /// An integer.
        case integer(Int64)
        /// A floating-point number, which must be finite.
        case double(Double)
    }
}

extension InPlaceOperation {
    /// The name of the operation on the wire.
    public var name: String {
        word.rawValue
    }

    enum Word: String, CaseIterable {
        case add
        case append
        case concat
        case toggle
        case merge
        case patch

        /// The member that says what the operation works with.
        var operand: String? {
            switch self {
            case .add: "by"
            case .append: "values"
            case .concat: "text"
            case .toggle: nil
            case .merge: "value"
            case .patch: "patch"
            }
        }
    }

    var word: Word {
        switch self {
        case .add: .add
        case .append: .append
        case .concat: .concat
        case .toggle: .toggle
        case .merge: .merge
        case .patch: .patch
        }
    }

    init(_ word: Word, _ reader: ObjectReader) throws(BodyError) {
        let operand = word.operand ?? ""
        self =
            switch word {
            case .add: .add(try reader.required(operand))
            case .append: .append(try reader.required(operand, BodyValue.array))
            case .concat: .concat(try reader.required(operand))
            case .toggle: .toggle
            case .merge: .merge(try reader.required(operand))
            case .patch: .patch(try reader.required(operand))
            }
    }

    func writeOperand(to writer: inout JSONWriter) {
        let operand = word.operand ?? ""
        switch self {
        case .add(let amount): writer.member(operand, amount)
        case .append(let values): writer.member(operand, values)
        case .concat(let text): writer.member(operand, text)
        case .toggle: break
        case .merge(let patch): writer.member(operand, patch)
        case .patch(let patch): writer.member(operand, patch)
        }
    }
}

extension InPlaceOperation: JSONReadable, JSONWritable {
    /// Reads the body of a PATCH of one setting; a member that the operation does not have is an error.
    public init(json: JSONValue) throws(BodyError) {
        let reader = try ObjectReader(json)
        // Without an operation nobody knows which members it has; the misspelt one is told first.
        if !reader.has("op") { try reader.allow(only: ["op"] + Word.allCases.compactMap(\.operand)) }
        let word: Word = try reader.required("op") { json throws(BodyError) in try BodyValue.word("op", json) }
        try reader.allow(only: ["op"] + [word.operand].compactMap(\.self))
        try self.init(word, reader)
    }

    /// Writes the body of a PATCH of one setting.
    public func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("op", name)
        writeOperand(to: &writer)
        writer.endObject()
    }
}

extension InPlaceOperation.Amount: JSONReadable, JSONWritable {
    /// Reads a number of either kind.
    public init(json: JSONValue) throws(BodyError) {
        switch json {
        case .integer(let amount): self = .integer(amount)
        case .double(let amount): self = .double(amount)
        default: throw .expected("a number", found: json)
        }
    }

    /// Writes the number in its kind.
    public func write(to writer: inout JSONWriter) {
        switch self {
        case .integer(let amount): writer.write(integer: amount)
        case .double(let amount): writer.write(double: amount)
        }
    }
}

extension InPlaceOperation.Amount: ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral {
    /// An integer.
    public init(integerLiteral value: Int64) {
        self = .integer(value)
    }

    /// A floating-point number.
    public init(floatLiteral value: Double) {
        self = .double(value)
    }
}
