/// The decoder of RFC 3492.
enum Punycode {
    private static let base = 36
    private static let smallestThreshold = 1
    private static let largestThreshold = 26

    /// The text that `bytes`, lower-case ASCII, stands for, or nil if they are no Punycode.
    ///
    /// Insertion makes this quadratic, so it is meant for labels, which have 63 bytes at most.
    static func decoded(_ bytes: [UInt8]) -> [Unicode.Scalar]? {
        var output: [Unicode.Scalar] = []
        var input = bytes[...]
        if let delimiter = bytes.lastIndex(of: UInt8(ascii: "-")), delimiter > 0 {
            output = bytes[..<delimiter].map { Unicode.Scalar($0) }
            input = bytes[(delimiter + 1)...]
        }
        var codePoint = 0x80
        var position = 0
        var bias = 72
        var isFirst = true
        while !input.isEmpty {
            guard let delta = takeDelta(&input, bias: bias, limit: 0x11_0000 * (output.count + 1)) else { return nil }
            let length = output.count + 1
            bias = adaptedBias(delta, length: length, isFirst: isFirst)
            isFirst = false
            codePoint += (position + delta) / length
            position = (position + delta) % length
            guard let value = UInt32(exactly: codePoint), let scalar = Unicode.Scalar(value) else { return nil }
            output.insert(scalar, at: position)
            position += 1
        }
        return output
    }

    /// Reads one variable-length number, nil if it is cut off or exceeds `limit`.
    ///
    /// A digit that is not the last of its number is 1 or more, so the weight never outgrows the sum, and the limit
    /// keeps both far from overflow.
    private static func takeDelta(_ input: inout ArraySlice<UInt8>, bias: Int, limit: Int) -> Int? {
        var delta = 0
        var weight = 1
        var step = base
        while let digit = input.popFirst().flatMap(digitValue) {
            delta += digit * weight
            guard delta <= limit else { return nil }
            let threshold = min(max(step - bias, smallestThreshold), largestThreshold)
            if digit < threshold { return delta }
            weight *= base - threshold
            step += base
        }
        return nil
    }

    private static func digitValue(_ byte: UInt8) -> Int? {
        switch byte {
        case 0x61...0x7A: Int(byte) - 0x61
        case 0x30...0x39: Int(byte) - 0x30 + 26
        default: nil
        }
    }

    private static func adaptedBias(_ delta: Int, length: Int, isFirst: Bool) -> Int {
        let skew = 38
        var remaining = isFirst ? delta / 700 : delta / 2
        remaining += remaining / length
        var bias = 0
        while remaining > (base - smallestThreshold) * largestThreshold / 2 {
            remaining /= base - smallestThreshold
            bias += base
        }
        return bias + (base - smallestThreshold + 1) * remaining / (remaining + skew)
    }
}
