internal import CLinux

/// A CRC-32C checksum (Castagnoli polynomial), which detects damaged bytes in a file.
///
/// The checksum detects any damage within 32 consecutive bits. It misses other damage with a probability of 1 in 2³².
package struct CRC32C: Equatable, Sendable {
    private var register: UInt32 = ~0

    package init() {}

    package init(of bytes: Span<UInt8>) {
        update(bytes)
    }

    /// The checksum of all bytes that were added so far.
    package var value: UInt32 { ~register }

    /// Adds bytes. Uses the CRC-32C instruction of the processor if there is one, and tables otherwise.
    package mutating func update(_ bytes: Span<UInt8>) {
        if Self.hasInstruction {
            register = bytes.withUnsafeBufferPointer { crc32c_update(register, $0.baseAddress, $0.count) }
        } else {
            updateWithTables(bytes)
        }
    }

    private static let hasInstruction = has_crc32c()

    /// Adds bytes without the CRC-32C instruction.
    mutating func updateWithTables(_ bytes: Span<UInt8>) {
        let tables = Self.tables
        var crc = register
        var offset = 0
        while offset + 8 <= bytes.count {
            var next: UInt32 = 0
            for index in 0..<8 {
                let registerByte = index < 4 ? UInt8(truncatingIfNeeded: crc >> UInt32(8 * index)) : 0
                next ^= tables[(7 - index) * 256 + Int(bytes[offset + index] ^ registerByte)]
            }
            crc = next
            offset += 8
        }
        while offset < bytes.count {
            crc = (crc >> 8) ^ tables[Int(UInt8(truncatingIfNeeded: crc) ^ bytes[offset])]
            offset += 1
        }
        register = crc
    }

    /// Eight tables of 256 entries, for the algorithm "slicing by 8", which processes groups of eight bytes. Table `n`
    /// contains the effect of each byte value on the register if `n` further bytes of the group follow the byte.
    private static let tables: [UInt32] = {
        var tables = [UInt32](repeating: 0, count: 8 * 256)
        for byte in 0..<256 {
            var crc = UInt32(byte)
            for _ in 0..<8 { crc = crc & 1 == 1 ? (crc >> 1) ^ 0x82F6_3B78 : crc >> 1 }
            tables[byte] = crc
        }
        for index in 256..<tables.count {
            let crc = tables[index - 256]
            tables[index] = (crc >> 8) ^ tables[Int(crc & 0xFF)]
        }
        return tables
    }()
}

extension CRC32C {
    /// The checksum as eight lower-case hexadecimal digits in ASCII.
    package var hexDigits: InlineArray<8, UInt8> {
        InlineArray { index in
            let digit = UInt8(truncatingIfNeeded: value >> UInt32(28 - index * 4)) & 0xF
            return digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") + digit - 10
        }
    }

    package func matches(hexDigits text: Span<UInt8>) -> Bool {
        let expected = hexDigits
        guard text.count == 8 else { return false }
        for index in 0..<8 where text[index] != expected[index] { return false }
        return true
    }
}
