import Testing

@testable import SettingsModel

@Suite("Arrays and spans of bytes")
struct ByteArrayTests {
    @Test(
        "A span is appended whole", arguments: [[], [1], [1, 2, 3], Array(repeating: 7, count: 10_000)] as [[UInt8]])
    func append(bytes: [UInt8]) {
        var array: [UInt8] = [9]
        array.append(copying: bytes.span)
        array.append(copying: bytes.span)
        #expect(array == [9] + bytes + bytes)
    }

    @Test("A part of an array is appended to another")
    func appendPart() {
        let source: [UInt8] = [1, 2, 3, 4]
        var array: [UInt8] = []
        array.append(copying: source.span.extracting(1..<3))
        array.append(copying: source.span.extracting(4..<4))
        #expect(array == [2, 3])
    }

    @Test(
        "Spans are the same byte by byte",
        arguments: [
            ([], [], true), ([1], [1], true), ([1], [2], false), ([1], [1, 2], false), ([1, 2], [1], false),
            ([0], [], false),
            ([1, 2, 3], [1, 2, 4], false), ([1, 2, 3], [0, 2, 3], false),
        ] as [([UInt8], [UInt8], Bool)])
    func sameBytes(left: [UInt8], right: [UInt8], expected: Bool) {
        #expect(left.span.hasSameBytes(as: right.span) == expected)
    }
}
