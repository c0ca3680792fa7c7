/// The elements of a value that is a list with commas, such as that of `Connection` or `If-None-Match`.
///
/// Commas between quotation marks divide nothing. Empty elements are passed over, as RFC 9110 asks of recipients.
package struct ListElements: Sendable {
    private var rest: Range<Int>

    /// Goes through the list in this range of the bytes.
    package init(_ range: Range<Int>) {
        rest = range
    }

    /// The next element without the blanks around it; nil if there is none.
    package mutating func next(in bytes: Span<UInt8>) -> Range<Int>? {
        while !rest.isEmpty {
            let start = rest.lowerBound
            var end = start
            var isQuoted = false
            while end < rest.upperBound {
                let byte = bytes[end]
                if byte == UInt8(ascii: "\"") {
                    isQuoted.toggle()
                } else if byte == UInt8(ascii: "\\"), isQuoted, end + 1 < rest.upperBound {
                    end += 1
                } else if byte == UInt8(ascii: ","), !isQuoted {
                    break
                }
                end += 1
            }
            rest = min(end + 1, rest.upperBound)..<rest.upperBound
            let element = bytes.trimmed(start..<end)
            if !element.isEmpty { return element }
        }
        return nil
    }
}
