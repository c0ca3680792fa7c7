public import SettingsModel

/// A change that the daemon makes to the effective value of a setting, so that the client need not read the value
/// first.
public enum InPlaceOperation: Equatable, Sendable {
    /// Adds to a number.
    case add(Amount)
    /// Appends elements to an array.
    case append([JSONValue])
    /// Appends text to a string.
    case concat(String)
    /// Changes true to false, and false to true.
    case toggle
    /// Applies a JSON Merge Patch (RFC 7396).
    case merge(JSONValue)
    /// Applies all steps of a JSON Patch, or none.
    case patch(JSONPatch)

    /// The number to add. The sum of two integers is an integer; any other sum is a floating-point number. If the
    /// schema demands integers, an integral number such as `2.0` counts as an integer.
    public enum Amount: Equatable, Sendable {
        /// An integer.
        case integer(Int64)
        /// A floating-point number. It must be finite.
        case double(Double)
    }
}

extension InPlaceOperation {
    /// The name of the operation in JSON.
    public var name: String {
        word.rawValue
    }

    /// The names of the operations in JSON.
    enum Word: String, BodyWord {
        case add, append, concat, toggle, merge, patch

        /// The name of the member that contains the operand; nil if the operation has no operand.
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
            case .append: .append(try reader.required(operand))
            case .concat: .concat(try reader.required(operand))
            case .toggle: .toggle
            case .merge: .merge(try reader.required(operand))
            case .patch: .patch(try reader.required(operand))
            }
    }

    func writeOperand(to writer: inout JSONWriter) {
        let operand = word.operand ?? ""
        switch self {
        case .add(let amount): writer.member(named: operand, amount)
        case .append(let values): writer.member(named: operand, values)
        case .concat(let text): writer.member(named: operand, text)
        case .toggle: break
        case .merge(let patch): writer.member(named: operand, patch)
        case .patch(let patch): writer.member(named: operand, patch)
        }
    }
}

extension InPlaceOperation: JSONBody {
    package init(_ reader: ObjectReader) throws(BodyError) {
        // Without the member `op`, the operand is unknown. The check allows the operands of all operations, and reports
        // a misspelt member, such as `opp`, instead of the missing `op`.
        if !reader.has("op") { try reader.allow(only: ["op"] + Word.allCases.compactMap(\.operand)) }
        let word: Word = try reader.required("op")
        try reader.allow(only: ["op"] + [word.operand].compactMap(\.self))
        try self.init(word, reader)
    }

    package func writeMembers(to writer: inout JSONWriter) {
        writer.member("op", name)
        writeOperand(to: &writer)
    }
}

extension InPlaceOperation.Amount: JSONReadable, JSONWritable {
    package init(json: JSONValue) throws(BodyError) {
        switch json {
        case .integer(let amount): self = .integer(amount)
        case .double(let amount): self = .double(amount)
        default: throw .expected("a number", found: json)
        }
    }

    package func write(to writer: inout JSONWriter) {
        writer.write(json)
    }

    fileprivate var json: JSONValue {
        switch self {
        case .integer(let amount): .integer(amount)
        case .double(let amount): .double(amount)
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

extension InPlaceOperation {
    /// Applies the operation to an effective value. The result is a valid value: its nesting is at most
    /// `JSONValue.maximumDepth`, and its numbers are finite.
    ///
    /// - Parameter holdsIntegers: true if the schema demands integers, so that an added `2.0` counts as `2`.
    package func applied(to value: JSONValue, holdsIntegers: Bool = false) throws(OperationError) -> JSONValue {
        switch self {
        case .add(let amount):
            guard holdsIntegers else { return try add(amount.json, to: value) }
            return try add(amount.json.reduced, to: value.reduced)
        case .append(let values):
            guard case .array(let elements) = value else { throw .needs("an array", for: self, found: value) }
            guard JSONValue.array(values).isNested(atMost: JSONValue.maximumDepth) else { throw .tooDeep }
            return .array(elements + values)
        case .concat(let text):
            guard case .string(let start) = value else { throw .needs("a string", for: self, found: value) }
            return .string(start + text)
        case .toggle:
            guard case .bool(let isOn) = value else { throw .needs("a boolean", for: self, found: value) }
            return .bool(!isOn)
        case .merge(let patch):
            return try value.merging(patch)
        case .patch(let patch):
            return try patch.applied(to: value)
        }
    }

    private func add(_ amount: JSONValue, to value: JSONValue) throws(OperationError) -> JSONValue {
        let sum: Double
        switch (value, amount) {
        case (.integer(let left), .integer(let right)):
            let (exact, overflow) = left.addingReportingOverflow(right)
            guard !overflow else {
                throw OperationError(
                    "the sum of \(left) and \(right) exceeds the integer limit \(right < 0 ? Int64.min : Int64.max)",
                    withoutValues: "the sum exceeds the range of 64-bit integers")
            }
            return .integer(exact)
        case (.integer(let left), .double(let right)): sum = try Self.sum(left, right)
        case (.double(let left), .integer(let right)): sum = try Self.sum(right, left)
        case (.double(let left), .double(let right)): sum = left + right
        default: throw .needs("a number", for: self, found: value)
        }
        guard sum.isFinite else { throw OperationError("the sum exceeds the range of finite numbers") }
        return .double(sum)
    }

    /// Adds an integer and a double. If the double is integral, throws unless the sum is exact. Otherwise throws if no
    /// double equals the integer, or if the rounded sum is integral and so has lost the fraction.
    private static func sum(_ integer: Int64, _ double: Double) throws(OperationError) -> Double {
        let sum = Double(integer) + double
        let isExact =
            if let whole = Int128(exactly: double) {
                // The subtraction cannot overflow: near the limits of Int128, adding an Int64 does not change a double.
                Int128(exactly: sum).map { $0 &- whole == Int128(integer) } ?? (integer == 0)
            } else if double == double.rounded() {
                // Beyond Int128, the neighbours of a double are further away than any Int64.
                integer == 0
            } else {
                Double(exactly: integer) != nil && sum != sum.rounded()
            }
        guard isExact || !sum.isFinite else {
            throw OperationError(
                "\(integer) and \(JSONValue.double(double).text()) have a sum that floating-point numbers cannot represent exactly",
                withoutValues: "floating-point numbers cannot represent the sum exactly")
        }
        return sum
    }
}

extension JSONValue {
    /// The value. An integral double becomes an integer.
    fileprivate var reduced: JSONValue {
        guard case .double(let double) = self, let exact = Int64(exactly: double) else { return self }
        return .integer(exact)
    }
}
