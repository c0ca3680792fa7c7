/// The rules for numbers. Limits are compared exactly, also between an Int64 and a Double.
final class NumberRules: Sendable {
    private let minimum: SchemaNumber?
    private let maximum: SchemaNumber?
    private let exclusiveMinimum: SchemaNumber?
    private let exclusiveMaximum: SchemaNumber?
    private let multipleOf: SchemaNumber?

    init?(_ source: SchemaSource, _ compiler: inout SchemaCompiler) {
        minimum = compiler.number("minimum", source)
        maximum = compiler.number("maximum", source)
        exclusiveMinimum = compiler.number("exclusiveMinimum", source)
        exclusiveMaximum = compiler.number("exclusiveMaximum", source)
        multipleOf = compiler.number("multipleOf", source)
        if let multipleOf, !JSONNumber.integer(0).isLess(than: multipleOf.number) {
            compiler.report(source.pointer.appending("multipleOf"), "multipleOf", "must be greater than 0")
        }
        if minimum == nil, maximum == nil, exclusiveMinimum == nil, exclusiveMaximum == nil, multipleOf == nil {
            return nil
        }
    }

    func check(_ value: JSONValue, _ validator: inout SchemaValidator) {
        guard let number = JSONNumber(value) else { return }
        if let limit = minimum, number.isLess(than: limit.number) {
            validator.fail("minimum", "must be at least \(limit.json)", value, expected: limit.json)
        }
        if let limit = maximum, limit.number.isLess(than: number) {
            validator.fail("maximum", "must be at most \(limit.json)", value, expected: limit.json)
        }
        if let limit = exclusiveMinimum, !limit.number.isLess(than: number) {
            validator.fail("exclusiveMinimum", "must be greater than \(limit.json)", value, expected: limit.json)
        }
        if let limit = exclusiveMaximum, !number.isLess(than: limit.number) {
            validator.fail("exclusiveMaximum", "must be less than \(limit.json)", value, expected: limit.json)
        }
        if let step = multipleOf, !value.isMultiple(of: step.json) {
            validator.fail("multipleOf", "must be a multiple of \(step.json)", value, expected: step.json)
        }
    }
}
