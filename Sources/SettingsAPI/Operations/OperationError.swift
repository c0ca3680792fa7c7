package import SettingsModel

/// The reason why an operation could not be applied to a value. The value is unchanged.
package struct OperationError: Error, Equatable, Sendable {
    package enum Kind: Equatable, Sendable {
        /// The operation cannot be applied to the value.
        case invalid
        /// A `test` of a JSON Patch found a different value, or no value at its path.
        case testFailed
    }

    package let kind: Kind
    /// The index of the failed step of a JSON Patch, counted from 0.
    package private(set) var step: Int?
    /// The position in the value; nil for the whole value.
    package private(set) var pointer: JSONPointer?
    /// The cause. It may contain short scalars of the value and names of members.
    package private(set) var detail: String
    /// The cause without any part of the value, for secrets and for logs.
    package private(set) var detailWithoutValues: String

    init(_ detail: String, withoutValues: String? = nil, kind: Kind = .invalid) {
        self.kind = kind
        self.detail = detail
        detailWithoutValues = withoutValues ?? detail
    }

    package var code: ErrorCode {
        switch kind {
        case .invalid: .invalidOperation
        case .testFailed: .preconditionFailed
        }
    }

    /// Returns the error as an error about the source of a move or a copy.
    func takingFrom(_ pointer: JSONPointer) -> OperationError {
        var error = self
        error.pointer = pointer
        return error
    }

    /// Returns the error as an error of one step of a JSON Patch.
    func inStep(_ index: Int, _ step: JSONPatch.Step) -> OperationError {
        var error = self
        error.step = index
        error.pointer = pointer ?? step.path
        let place = pointer.map { " from \($0.phrase)" } ?? (step.path.tokens.isEmpty ? "" : " at \(step.path.phrase)")
        error.detail = "step \(index + 1) of the patch, \(step.word.rawValue)\(place): \(detail)"
        error.detailWithoutValues = "step \(index + 1) of the patch, \(step.word.rawValue): \(detailWithoutValues)"
        return error
    }
}

extension OperationError: CustomStringConvertible {
    /// The cause without values, because a description may be logged.
    package var description: String {
        detailWithoutValues
    }
}

extension OperationError {
    static let tooDeep = OperationError("the result is nested more than \(JSONValue.maximumDepth) levels deep")

    static func needs(_ operand: String, for operation: InPlaceOperation, found value: JSONValue) -> OperationError {
        OperationError("\(operation.name) needs \(operand), but the value is \(value.kindPhrase)")
    }
}
