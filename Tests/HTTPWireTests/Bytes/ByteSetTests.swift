import Testing

@testable import HTTPWire

struct ByteSetTests {
    private static let digits = "0123456789"
    private static let capitals = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
    private static let marks = "!#$%&'*+-.^_`|~"

    @Test("The sets hold the bytes that the grammars name and no others")
    func members() {
        let cases: [(ByteSet, String)] = [
            (.token, Self.marks + Self.digits + Self.capitals + Self.capitals.lowercased()),
            (.method, Self.marks + Self.digits + Self.capitals),
            (.hostName, "-._~!$&'()*+,;=" + Self.digits + Self.capitals + Self.capitals.lowercased()),
            (.addressInBrackets, ":." + Self.digits + "abcdefABCDEF"),
        ]
        for (set, members) in cases {
            for byte in UInt8.min...UInt8.max {
                #expect(set.contains(byte) == members.utf8.contains(byte), "\(byte) in \(members)")
            }
        }
    }

    @Test("There is room in a head for every field that is read")
    func fieldCount() {
        #expect(FieldName.allCases.count == 17)
        #expect(FieldName.allCases.allSatisfy { $0.rawValue < 17 })
    }
}
