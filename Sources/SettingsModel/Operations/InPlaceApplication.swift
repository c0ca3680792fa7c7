extension InPlaceOperation {
    /// The value that the operation makes of an effective value.
    ///
    /// Nothing of the schema is looked at here; whether the result is allowed is decided when it is stored. What comes
    /// out can always be written and read back: it is nested no deeper than ``JSONValue/maximumDepth``, and its
    /// numbers are finite.
    public func applied(to value: JSONValue) throws(OperationError) -> JSONValue {
        switch self {
        case .add(let amount):
            return try add(amount, to: value)
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
        case (.integer(let left), .double(let right)): sum = Double(left) + right
        case (.double(let left), .integer(let right)): sum = left + Double(right)
        case (.double(let left), .double(let right)): sum = left + right
        default: throw .needs("a number", for: self, found: value)
        }
        guard sum.isFinite else { throw OperationError("the sum is beyond the finite numbers") }
        return .double(sum)
    }
}
