/// A natural number of any size, in the plainest way: its decimal digits, the last one first.
struct BigNatural: Equatable {
    private var digits: [Int]

    init(_ text: some StringProtocol) {
        digits = text.compactMap(\.wholeNumberValue).reversed()
        trim()
    }

    init(_ value: UInt64) {
        self.init(String(value))
    }

    var isZero: Bool {
        digits.isEmpty
    }

    func timesPowerOfTen(_ power: Int) -> BigNatural {
        var product = self
        if !isZero { product.digits = Array(repeating: 0, count: power) + digits }
        return product
    }

    func timesPowerOfTwo(_ power: Int) -> BigNatural {
        var product = self
        for _ in 0..<power {
            var carry = 0
            for index in product.digits.indices {
                let doubled = product.digits[index] * 2 + carry
                product.digits[index] = doubled % 10
                carry = doubled / 10
            }
            if carry > 0 { product.digits.append(carry) }
        }
        return product
    }

    /// Whether this is the other number times a natural number, by long division.
    func isMultiple(of divisor: BigNatural) -> Bool {
        var rest = BigNatural(0)
        for digit in digits.reversed() {
            rest.digits.insert(digit, at: 0)
            rest.trim()
            while !rest.isLess(than: divisor) { rest.subtract(divisor) }
        }
        return rest.isZero
    }

    func isLess(than other: BigNatural) -> Bool {
        if digits.count != other.digits.count { return digits.count < other.digits.count }
        for (left, right) in zip(digits.reversed(), other.digits.reversed()) where left != right { return left < right }
        return false
    }

    private mutating func subtract(_ other: BigNatural) {
        var borrow = 0
        for index in digits.indices {
            var difference = digits[index] - borrow - (index < other.digits.count ? other.digits[index] : 0)
            borrow = difference < 0 ? 1 : 0
            if difference < 0 { difference += 10 }
            digits[index] = difference
        }
        trim()
    }

    private mutating func trim() {
        while digits.last == 0 { digits.removeLast() }
    }
}
