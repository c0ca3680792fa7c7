public import SettingsModel

extension InPlaceOperation {
    /// The value that the operation makes of an effective value.
    ///
    /// Whether the result is allowed is decided when it is stored. What comes out can always be written and read back:
    /// it is nested no deeper than ``JSONValue/maximumDepth``, and its numbers are finite.
    ///
    /// - Parameters:
    ///   - value: the effective value.
    ///   - holdsIntegers: true if the key asks for integers, so that `1.0` counts as one.
    public func applied(to value: JSONValue, holdsIntegers: Bool = false) throws(OperationError) -> JSONValue {
        switch self {
        case .add(let amount):
            guard holdsIntegers else { return try add(amount, to: value) }
            return try add(amount.reduced, to: value.reduced)
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

    private func add(_ amount: Amount, to value: JSONValue) throws(OperationError) -> JSONValue {
        let sum: Double
        switch (value, amount) {
        case (.integer(let left), .integer(let right)):
            let (exact, overflow) = left.addingReportingOverflow(right)
            guard !overflow else {
                throw OperationError(
                    "\(left) add \(right) is beyond the integers, which end at \(right < 0 ? Int64.min : Int64.max)",
                    withoutValues: "the sum is beyond the integers, which are of 64 bits")
            }
            return .integer(exact)
        case (.integer(let left), .double(let right)): sum = try Self.sum(left, right)
        case (.double(let left), .integer(let right)): sum = try Self.sum(right, left)
        case (.double(let left), .double(let right)): sum = left + right
        default: throw .needs("a number", for: self, found: value)
        }
        guard sum.isFinite else { throw OperationError("the sum is beyond the finite numbers") }
        return .double(sum)
    }

    /// The sum of an integer and a double. Throws if the integer, or all of the fraction, would be lost by rounding.
    private static func sum(_ integer: Int64, _ double: Double) throws(OperationError) -> Double {
        let sum = Double(integer) + double
        let isKept =
            if let whole = Int128(exactly: double) {
                // Beyond half of the range the double is far too large for an integer to change it.
                Int128(exactly: sum).map { $0 &- whole == Int128(integer) } ?? (integer == 0)
            } else if double == double.rounded() {
                integer == 0
            } else {
                Double(exactly: integer) != nil && sum != sum.rounded()
            }
        guard isKept || !sum.isFinite else {
            throw OperationError(
                "\(integer) and \(JSONValue.double(double).text()) have a sum that would be rounded",
                withoutValues: "the sum would be rounded")
        }
        return sum
    }
}

extension InPlaceOperation.Amount {
    /// The amount, an integral double as the integer that it is.
    fileprivate var reduced: Self {
        guard case .double(let double) = self, let exact = Int64(exactly: double) else { return self }
        return .integer(exact)
    }
}

extension JSONValue {
    /// The value, an integral double as the integer that it is.
    fileprivate var reduced: JSONValue {
        guard case .double(let double) = self, let exact = Int64(exactly: double) else { return self }
        return .integer(exact)
    }
}
