public import SettingsModel

/// Why an operation could not be done to a value. The value is as it was.
public struct OperationError: Error, Hashable, Sendable {
    /// What kind of failure it is.
    public enum Kind: Hashable, Sendable {
        /// The value does not admit the operation.
        case invalid
        /// A `test` of a JSON Patch found another value: a precondition, not a mistake.
        case testFailed
    }

    /// What kind of failure it is.
    public let kind: Kind
    /// The step of a JSON Patch that failed, from 0.
    public private(set) var step: Int?
    /// Where in the value, if it was not about the whole.
    public private(set) var pointer: JSONPointer?
    /// What is wrong. Short scalars of the value may be quoted, and names of members.
    public private(set) var detail: String
    /// What is wrong, without anything that comes from the value: for secrets and for logs.
    public private(set) var detailWithoutValues: String

    init(_ detail: String, withoutValues: String? = nil, kind: Kind = .invalid) {
        self.kind = kind
        self.detail = detail
        detailWithoutValues = withoutValues ?? detail
    }

    /// The code of the contract.
    public var code: ErrorCode {
        switch kind {
        case .invalid: .invalidOperation
        case .testFailed: .preconditionFailed
        }
    }

    /// The same error as one about the place that something was to be taken from.
    func takingFrom(_ pointer: JSONPointer) -> OperationError {
        var error = self
        error.pointer = pointer
        return error
    }

    /// The same error as that of one step of a JSON Patch.
    func inStep(_ index: Int, _ step: JSONPatch.Step) -> OperationError {
        var error = self
        error.step = index
        error.pointer = pointer ?? step.path
        let place = pointer.map { " from \($0.phrase)" } ?? (step.path.tokens.isEmpty ? "" : " at \(step.path.phrase)")
        error.detail = "step \(index), \(step.word.rawValue)\(place): \(detail)"
        error.detailWithoutValues = "step \(index), \(step.word.rawValue): \(detailWithoutValues)"
        return error
    }
}

extension OperationError: CustomStringConvertible {
    /// The detail without values, since nobody knows where a description ends up.
    public var description: String {
        detailWithoutValues
    }
}

/// Errors that several operations have.
extension OperationError {
    static let tooDeep = OperationError("the result is nested more than \(JSONValue.maximumDepth) levels deep")

    static func needs(_ what: String, for operation: InPlaceOperation, found value: JSONValue) -> OperationError {
        OperationError("\(operation.name) needs \(what), but the value is \(value.kindPhrase)")
    }
}
