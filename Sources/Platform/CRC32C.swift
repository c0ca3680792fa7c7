internal import CLinux

/// A check of a file's bytes: CRC-32C (Castagnoli), as storage systems use it.
///
/// It finds every error of up to 32 bits in a row, and misses one in four thousand million of the others.
package struct CRC32C: Equatable, Sendable {
    private var register: UInt32 = ~0

    package init() {}

    /// The check of some bytes.
    package init(of bytes: Span<UInt8>) {
        update(bytes)
    }

    /// The check of all bytes so far.
    package var value: UInt32 { ~register }

    /// Adds more bytes: by the processor's instruction where it has one, else by tables.
    package mutating func update(_ bytes: Span<UInt8>) {
        if Self.hasInstruction {
            register = bytes.withUnsafeBufferPointer { crc32c_update(register, $0.baseAddress, $0.count) }
        } else {
            updateByTables(bytes)
        }
    }

    private static let hasInstruction = has_crc32c()

    mutating func updateByTables(_ bytes: Span<UInt8>) {
        let tables = Self.tables
        var crc = register
        var offset = 0
        while offset + 8 <= bytes.count {
            var next: UInt32 = 0
            for index in 0..<8 {
                let before = index < 4 ? UInt8(truncatingIfNeeded: crc >> UInt32(8 * index)) : 0
                next ^= tables[(7 - index) * 256 + Int(bytes[offset + index] ^ before)]
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

    /// Eight tables of 256: what a byte adds to the check when so many bytes come after it.
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
    /// The value in eight digits of hexadecimal.
    package var digits: InlineArray<8, UInt8> {
        InlineArray { index in
            let digit = UInt8(truncatingIfNeeded: value >> UInt32(28 - index * 4)) & 0xF
            return digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") + digit - 10
        }
    }

    /// True if eight bytes are the digits of the value.
    package func isWritten(as text: Span<UInt8>) -> Bool {
        let digits = digits
        guard text.count == 8 else { return false }
        for index in 0..<8 where text[index] != digits[index] { return false }
        return true
    }
}
