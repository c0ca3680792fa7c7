import SettingsAPI
import SettingsModel
import Testing

struct InPlaceTests {
    struct Sum: CustomTestStringConvertible, Sendable {
        let testDescription: String
        let value: JSONValue
        let amount: InPlaceOperation.Amount
        let result: JSONValue

        init(_ name: String, _ value: JSONValue, _ amount: InPlaceOperation.Amount, _ result: JSONValue) {
            testDescription = name
            self.value = value
            self.amount = amount
            self.result = result
        }
    }

    @Test("The JSON value of an operation contains a value of the maximum nesting")
    func nestedOperation() throws {
        let value = (0..<128).reduce(JSONValue.integer(1)) { value, _ in .array([value]) }
        let operation = Transaction.Operation(suite: try SuiteName("app"), key: try KeyName("k"), .set(value))
        #expect(operation.jsonValue["value"] == value)
    }

    @Test(
        "add gives the sum, which is an integer if both operands are integers",
        arguments: [
            Sum("two integers", 41, 1, 42),
            Sum("a negative integer", 0, -1, -1),
            Sum("the largest integer, exactly", .integer(.max - 1), 1, .integer(.max)),
            Sum("the smallest integer, exactly", .integer(.min + 1), -1, .integer(.min)),
            Sum("the smallest integer to the largest integer", .integer(.max), .integer(.min), -1),
            Sum("an integer above 2^53, exactly", 9_007_199_254_740_993, 1, 9_007_199_254_740_994),
            Sum("an integer to a double", 3.14, 10, 13.14),
            Sum("a double to an integer", 10, 3.14, 13.14),
            Sum("a whole double to an integer", 41, 1.0, 42.0),
            Sum("doubles that are not exact", 0.1, 0.2, 0.30000000000000004),
            Sum("a double to the largest integer", .integer(.max), 1.0, 9_223_372_036_854_775_808.0),
            Sum("zero to minus zero", -0.0, 0, 0.0),
            Sum("the smallest double", 0.0, .double(.leastNonzeroMagnitude), .double(.leastNonzeroMagnitude)),
        ])
    func sums(sum: Sum) throws {
        #expect(try InPlaceOperation.add(sum.amount).applied(to: sum.value) == sum.result)
    }

    @Test(
        "append, concat and toggle give the documented results",
        arguments: [
            (.append(["b", .null]), ["a"], ["a", "b", .null]),
            (.append([]), [], []),
            (.append([[1]]), [], [[1]]),
            (.concat("é"), "caf", "café"),
            (.concat("\u{301}"), "e", "e\u{301}"),
            (.concat(""), "", ""),
            (.toggle, true, false),
            (.toggle, false, true),
        ] as [(InPlaceOperation, JSONValue, JSONValue)])
    func appendConcatToggle(operation: InPlaceOperation, value: JSONValue, result: JSONValue) throws {
        #expect(try operation.applied(to: value) == result)
    }

    @Test(
        "An operation that cannot be applied to the value fails with the reason",
        arguments: [
            (.add(1), "41", "add needs a number, but the value is a string"),
            (.add(1), .null, "add needs a number, but the value is null"),
            (.add(1), true, "add needs a number, but the value is a boolean"),
            (
                .add(1), .integer(.max),
                "the sum of 9223372036854775807 and 1 exceeds the integer limit 9223372036854775807"
            ),
            (
                .add(-1), .integer(.min),
                "the sum of -9223372036854775808 and -1 exceeds the integer limit -9223372036854775808"
            ),
            (.add(.double(.greatestFiniteMagnitude)), .double(.greatestFiniteMagnitude), notFinite),
            (.add(.double(.infinity)), 1, notFinite),
            (.add(.double(.nan)), 1.5, notFinite),
            (.append(["x"]), ["a": 1], "append needs an array, but the value is an object"),
            (.append(["x"]), "a", "append needs an array, but the value is a string"),
            (.concat("x"), ["a"], "concat needs a string, but the value is an array"),
            (.concat("x"), 1.5, "concat needs a string, but the value is a floating-point number"),
            (.toggle, 0, "toggle needs a boolean, but the value is an integer"),
        ] as [(InPlaceOperation, JSONValue, String)])
    func impossible(operation: InPlaceOperation, value: JSONValue, detail: String) {
        let error = #expect(throws: OperationError.self) { try operation.applied(to: value) }
        #expect(error?.detail == detail)
        #expect(error?.code == .invalidOperation)
        #expect(error?.kind == .invalid)
        #expect(error?.step == nil)
    }

    static let notFinite = "the sum exceeds the range of finite numbers"

    @Test("The detail without values does not contain the operands")
    func withoutValues() {
        let error = #expect(throws: OperationError.self) { try InPlaceOperation.add(1).applied(to: .integer(.max)) }
        #expect(error?.detailWithoutValues == "the sum exceeds the range of 64-bit integers")
        #expect(error?.description == error?.detailWithoutValues)
    }

    @Test("An append or a merge is refused if its result exceeds the maximum nesting")
    func depth() throws {
        let deepest = Self.nested(127)
        #expect(try InPlaceOperation.append([deepest]).applied(to: []) == [deepest])
        #expect(try InPlaceOperation.merge(Self.nested(128)).applied(to: 1) == Self.nested(128))
        for operation in [
            InPlaceOperation.append([Self.nested(128)]), .merge(Self.nested(129)), .merge(Self.nested(5000)),
        ] {
            let error = #expect(throws: OperationError.self) { try operation.applied(to: []) }
            #expect(error?.detail == "the result is nested more than 128 levels deep")
        }
    }

    /// Nested arrays with this number of levels.
    static func nested(_ levels: Int, around value: JSONValue = 0) -> JSONValue {
        (0..<levels).reduce(value) { value, _ in [value] }
    }
}
