import SettingsAPI
import SettingsModel
import Testing

/// Tests of the limit of a patch, `JSONPatch.maximumWork`, which is 4,000,000 units of work. The expected indexes are
/// the steps at which the work of the patch exceeds this limit. A unit is one copied value, 8 bytes of copied text, or
/// 16 elements that an insertion or a removal shifts. A copied array costs one unit in addition to its elements.
struct JSONPatchLimitTests {
    static func copy(_ from: String, _ path: String) throws -> JSONPatch.Step {
        .copy(from: try #require(JSONPointer(from)), to: try #require(JSONPointer(path)))
    }

    /// Expects that the patch is refused because it copies or moves too many values or bytes. Returns the index of the
    /// refused step.
    static func stepBeyondLimit(_ patch: JSONPatch, _ value: JSONValue) throws -> Int? {
        let error = #expect(throws: OperationError.self) { try patch.applied(to: value) }
        #expect(error?.code == .invalidOperation)
        #expect(error?.detail.hasSuffix("bytes; send several smaller patches") == true)
        return error?.step
    }

    @Test("A patch whose copies repeatedly double a value is refused", .timeLimit(.minutes(1)))
    func doubling() throws {
        let patch = JSONPatch(try (0..<60).map { _ in try Self.copy("/a", "/a/-") })
        // Each step copies twice as many values as the previous step, and 2²² is more than 4,000,000.
        let step = try #require(try Self.stepBeyondLimit(patch, ["a": [1]]))
        #expect((18...24).contains(step))
    }

    @Test("A patch that copies a large value repeatedly to the same position is refused", .timeLimit(.minutes(1)))
    func samePosition() throws {
        let value: JSONValue = ["a": .array(Array(repeating: 1, count: 100_000))]
        let patch = JSONPatch(try (0..<10_000).map { _ in try Self.copy("/a", "/b") })
        #expect(try Self.stepBeyondLimit(patch, value) == 39)
    }

    @Test("A patch that copies large texts repeatedly is refused", .timeLimit(.minutes(1)))
    func text() throws {
        let value: JSONValue = ["a": .string(String(repeating: "x", count: 1_000_000))]
        let patch = JSONPatch(try (0..<10_000).map { try Self.copy("/a", "/\($0)") })
        #expect(try Self.stepBeyondLimit(patch, value) == 31)
    }

    @Test("A patch with many insertions at the front of a long array is refused", .timeLimit(.minutes(1)))
    func insertionsAtFront() throws {
        let front = try #require(JSONPointer("/0"))
        let value = JSONValue.array(Array(repeating: 1, count: 1_000_000))
        let patch = JSONPatch(Array(repeating: .add(front, 1), count: 100_000))
        #expect(try Self.stepBeyondLimit(patch, value) == 63)
    }

    @Test(
        "A patch with 5,000 moves or removals in an array of 10,000 objects is within the limits",
        .timeLimit(.minutes(1)))
    func movesAndRemovals() throws {
        let value = JSONValue.array((0..<10_000).map { .object(["id": .integer(Int64($0)), "name": "x"]) })
        let first = try #require(JSONPointer("/0"))
        let last = try #require(JSONPointer("/-"))
        let moves = JSONPatch(Array(repeating: .move(from: first, to: last), count: 5000))
        let result = try moves.applied(to: value)
        #expect(result.array?.first?["id"] == 5000)
        #expect(result.array?.count == 10_000)
        #expect(try JSONPatch(Array(repeating: .remove(first), count: 5000)).applied(to: value).array?.count == 5000)
    }

    @Test("The steps of a patch change a large value in place without copying it", .timeLimit(.minutes(1)))
    func inPlace() throws {
        // If each step copied the list, the test would exceed its time limit.
        let list = JSONValue.array(Array(repeating: 1, count: 500_000))
        let last = JSONPointer(["outer", "list", "-"])
        let patch = JSONPatch(Array(repeating: .add(last, 2), count: 20_000))
        let result = try patch.applied(to: ["outer": ["list": list]])
        #expect(result["outer"]?["list"]?.array?.count == 520_000)
        let first = JSONPointer(["outer", "list", "0"])
        let replaced = try JSONPatch(Array(repeating: .replace(first, 3), count: 20_000)).applied(to: result)
        #expect(replaced["outer"]?["list"]?.array?.first == 3)
    }

    @Test("A patch whose result exceeds the maximum nesting is refused")
    func depth() throws {
        let deepest = InPlaceTests.nested(128)
        let leaf = JSONPointer(Array(repeating: "0", count: 128))
        let replaced = try JSONPatch([.replace(leaf, 7)]).applied(to: deepest)
        #expect(replaced == InPlaceTests.nested(128, around: 7))
        let steps: [JSONPatch.Step] = [
            .replace(leaf, [7]), .add(leaf, [:]), .add(.root, InPlaceTests.nested(129)),
            .copy(from: .root, to: JSONPointer(["-"])), .copy(from: JSONPointer(["0"]), to: JSONPointer(["0", "-"])),
        ]
        for step in steps {
            let error = #expect(throws: OperationError.self) { try JSONPatch([step]).applied(to: deepest) }
            #expect(error?.detail.hasSuffix("the result is nested more than 128 levels deep") == true)
        }
        let inwards = JSONPatch([.move(from: JSONPointer(["a"]), to: JSONPointer(["b", "c"]))])
        #expect(throws: OperationError.self) { try inwards.applied(to: ["a": InPlaceTests.nested(127), "b": [:]]) }
        #expect(try inwards.applied(to: ["a": InPlaceTests.nested(126), "b": [:]])["a"] == nil)
    }

    @Test("A step with a pointer of 50,000 tokens fails with a short message")
    func longPointer() throws {
        let long = JSONPointer(Array(repeating: "a", count: 50_000))
        for step in [
            JSONPatch.Step.add(long, 1), .remove(long), .copy(from: .root, to: long), .move(from: long, to: .root),
        ] {
            let error = #expect(throws: OperationError.self) {
                try JSONPatch([step]).applied(to: ["a": ["a": 1]])
            }
            #expect(error?.detail.utf8.count ?? .max < 300)
        }
    }

    @Test("The error of a patch has the index of the failed step")
    func failedStep() throws {
        let value: JSONValue = ["a": [1, 2, 3], "b": ["c": 1]]
        let patch = try JSONPatch(
            json: [
                ["op": "remove", "path": "/a/0"], ["op": "add", "path": "/b/d", "value": 1],
                ["op": "test", "path": "/b", "value": .null],
            ])
        let error = #expect(throws: OperationError.self) { try patch.applied(to: value) }
        #expect(error?.step == 2)
    }

    @Test("Messages without values contain neither values nor member names")
    func withoutValues() throws {
        // The text `hunter2` stands for a secret. The names `hunter3` and `7` do not exist.
        let value: JSONValue = ["hunter2": "hunter2", "list": ["hunter2"]]
        let steps: [JSONPatch.Step] = [
            .test(JSONPointer(["hunter2"]), "x"), .remove(JSONPointer(["hunter3"])),
            .remove(JSONPointer(["list", "7"])),
            .add(JSONPointer(["hunter2", "x"]), 1), .copy(from: JSONPointer(["hunter3"]), to: .root),
        ]
        for step in steps {
            let error = #expect(throws: OperationError.self) { try JSONPatch([step]).applied(to: value) }
            #expect(error?.detailWithoutValues.contains("hunter") == false)
            #expect(error?.description.contains("hunter") == false)
        }
    }
}
