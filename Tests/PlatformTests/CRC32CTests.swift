import TestSupport
import Testing

@testable import Platform

@Suite(.ownThread)
struct CRC32CTests {
    /// The vectors of 32 bytes of RFC 3720 appendix B.4, the checksum of the digits 1 to 9, by which implementations of
    /// CRC-32C are usually compared, and the checksum of no bytes.
    private static let published: [(bytes: [UInt8], checksum: UInt32)] = [
        ([UInt8](repeating: 0, count: 32), 0x8A91_36AA), ([UInt8](repeating: 0xFF, count: 32), 0x62A8_AB43),
        ([UInt8](0..<32), 0x46DD_794E), ([UInt8]((0..<32).reversed()), 0x113F_DB5C),
        ([UInt8]("123456789".utf8), 0xE306_9283), ([], 0),
    ]

    @Test(arguments: published)
    func `The checksum of known bytes is the published checksum`(_ bytes: [UInt8], _ expected: UInt32) {
        let checksum = CRC32C(of: bytes.span).value
        #expect(checksum == expected)
    }

    @Test
    func `The tables give the same checksum as the instruction of the processor`() {
        let bytes = (0..<300).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        for end in bytes.indices {
            let piece = bytes.span.extracting((end / 3)..<end)
            var checksum = CRC32C()
            checksum.updateWithTables(piece)
            #expect(checksum == CRC32C(of: piece))
        }
    }

    @Test
    func `Pieces of any length give the same checksum`() {
        let bytes = (0..<300).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        let whole = CRC32C(of: bytes.span)
        for length in 1...17 {
            var checksum = CRC32C()
            var start = 0
            while start < bytes.count {
                let end = min(start + length, bytes.count)
                checksum.update(bytes.span.extracting(start..<end))
                start = end
            }
            #expect(checksum == whole)
        }
    }

    @Test(arguments: [("e3069283", true), ("e3069284", false), ("e306928", false)])
    func `A checksum matches only its own eight hexadecimal digits`(_ digits: String, _ isExpected: Bool) {
        let checksum = CRC32C(of: [UInt8]("123456789".utf8).span)
        let isMatch = checksum.matches(hexDigits: [UInt8](digits.utf8).span)
        #expect(isMatch == isExpected)
    }
}
