/// A SHA-256 digest (FIPS 180-4).
package struct SHA256: Hashable, Sendable {
    /// The eight words of the digest, from the first to the last.
    private let words: InlineArray<8, UInt32>

    package init(_ message: Span<UInt8>) {
        var hash = Self.initialHash
        var block = InlineArray<64, UInt8>(repeating: 0)
        let length = message.count
        // The padded message is the message, a one bit, zeros, and the number of bits as a 64-bit integer.
        let padded = (length + 9 + 63) / 64 * 64
        for index in 0..<padded {
            let byte: UInt8 =
                if index < length {
                    message[index]
                } else if index == length {
                    0x80
                } else if index >= padded - 8 {
                    UInt8(truncatingIfNeeded: (UInt64(length) * 8) >> UInt64(8 * (padded - 1 - index)))
                } else {
                    0
                }
            block[index % 64] = byte
            if index % 64 == 63 { Self.compress(block, into: &hash) }
        }
        words = hash
    }

    /// Parses 64 hexadecimal digits. Returns nil for any other text.
    package init?(hex: String) {
        let digits = Array(hex.utf8)
        guard digits.count == 64 else { return nil }
        var words = InlineArray<8, UInt32>(repeating: 0)
        for index in 0..<8 {
            for digit in digits[(8 * index)..<(8 * index + 8)] {
                guard let value = Character(Unicode.Scalar(digit)).hexDigitValue else { return nil }
                words[index] = words[index] << 4 | UInt32(value)
            }
        }
        self.words = words
    }

    /// The digest as 64 lower-case hexadecimal digits.
    package var hex: String {
        words.indices.map { index in
            let digits = String(words[index], radix: 16)
            return String(repeating: "0", count: 8 - digits.utf8.count) + digits
        }.joined()
    }

    /// Compares two digests in constant time, so that the time reveals nothing about a secret digest.
    package static func == (left: SHA256, right: SHA256) -> Bool {
        var difference: UInt32 = 0
        for index in 0..<8 { difference |= left.words[index] ^ right.words[index] }
        return difference == 0
    }

    /// Hashes the first word only, because the words of a digest are already distributed like random numbers.
    package func hash(into hasher: inout Hasher) { hasher.combine(words[0]) }

    /// The compression function of FIPS 180-4, section 6.2.2. The standard names the variables `a` to `h`.
    private static func compress(_ block: borrowing InlineArray<64, UInt8>, into hash: inout InlineArray<8, UInt32>) {
        var schedule = InlineArray<64, UInt32>(repeating: 0)
        for index in 0..<16 {
            for offset in 0..<4 { schedule[index] = schedule[index] << 8 | UInt32(block[4 * index + offset]) }
        }
        for index in 16..<64 {
            let (early, late) = (schedule[index - 15], schedule[index - 2])
            let sigma0 = early.rotatedRight(by: 7) ^ early.rotatedRight(by: 18) ^ early >> 3
            let sigma1 = late.rotatedRight(by: 17) ^ late.rotatedRight(by: 19) ^ late >> 10
            schedule[index] = schedule[index - 16] &+ sigma0 &+ schedule[index - 7] &+ sigma1
        }
        var (a, b, c, d) = (hash[0], hash[1], hash[2], hash[3])
        var (e, f, g, h) = (hash[4], hash[5], hash[6], hash[7])
        let constants = roundConstants
        for index in 0..<64 {
            let choice = e & f ^ ~e & g
            let sum = e.rotatedRight(by: 6) ^ e.rotatedRight(by: 11) ^ e.rotatedRight(by: 25)
            let temporary1 = h &+ sum &+ choice &+ constants[index] &+ schedule[index]
            let majority = a & b ^ a & c ^ b & c
            let temporary2 = (a.rotatedRight(by: 2) ^ a.rotatedRight(by: 13) ^ a.rotatedRight(by: 22)) &+ majority
            (h, g, f, e) = (g, f, e, d &+ temporary1)
            (d, c, b, a) = (c, b, a, temporary1 &+ temporary2)
        }
        hash[0] &+= a
        hash[1] &+= b
        hash[2] &+= c
        hash[3] &+= d
        hash[4] &+= e
        hash[5] &+= f
        hash[6] &+= g
        hash[7] &+= h
    }

    private static let initialHash: InlineArray<8, UInt32> = [
        0x6a09_e667, 0xbb67_ae85, 0x3c6e_f372, 0xa54f_f53a, 0x510e_527f, 0x9b05_688c, 0x1f83_d9ab, 0x5be0_cd19,
    ]

    private static let roundConstants: [UInt32] = [
        0x428a_2f98, 0x7137_4491, 0xb5c0_fbcf, 0xe9b5_dba5, 0x3956_c25b, 0x59f1_11f1, 0x923f_82a4, 0xab1c_5ed5,
        0xd807_aa98, 0x1283_5b01, 0x2431_85be, 0x550c_7dc3, 0x72be_5d74, 0x80de_b1fe, 0x9bdc_06a7, 0xc19b_f174,
        0xe49b_69c1, 0xefbe_4786, 0x0fc1_9dc6, 0x240c_a1cc, 0x2de9_2c6f, 0x4a74_84aa, 0x5cb0_a9dc, 0x76f9_88da,
        0x983e_5152, 0xa831_c66d, 0xb003_27c8, 0xbf59_7fc7, 0xc6e0_0bf3, 0xd5a7_9147, 0x06ca_6351, 0x1429_2967,
        0x27b7_0a85, 0x2e1b_2138, 0x4d2c_6dfc, 0x5338_0d13, 0x650a_7354, 0x766a_0abb, 0x81c2_c92e, 0x9272_2c85,
        0xa2bf_e8a1, 0xa81a_664b, 0xc24b_8b70, 0xc76c_51a3, 0xd192_e819, 0xd699_0624, 0xf40e_3585, 0x106a_a070,
        0x19a4_c116, 0x1e37_6c08, 0x2748_774c, 0x34b0_bcb5, 0x391c_0cb3, 0x4ed8_aa4a, 0x5b9c_ca4f, 0x682e_6ff3,
        0x748f_82ee, 0x78a5_636f, 0x84c8_7814, 0x8cc7_0208, 0x90be_fffa, 0xa450_6ceb, 0xbef9_a3f7, 0xc671_78f2,
    ]
}

extension UInt32 {
    fileprivate func rotatedRight(by bits: UInt32) -> UInt32 { self >> bits | self << (32 - bits) }
}
