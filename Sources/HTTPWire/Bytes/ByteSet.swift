/// A set of ASCII bytes, one bit each: asking it costs no table in memory and no branch for each kind of byte.
struct ByteSet: Sendable {
    /// The bytes below 64.
    let low: UInt64
    /// The bytes from 64 to 127.
    let high: UInt64

    /// What a token of RFC 9110 consists of: letters, digits and ``!#$%&'*+-.^_`|~``.
    static let token = ByteSet(low: 0x03FF_6CFA_0000_0000, high: 0x57FF_FFFF_C7FF_FFFE)
    /// What the name of a method may consist of here: a token without lower-case letters. Methods are told apart by
    /// case, and every registered one is in capitals, so `get` is a mistake rather than another method.
    static let method = ByteSet(low: 0x03FF_6CFA_0000_0000, high: 0x5000_0001_C7FF_FFFE)
    /// What the name of a host consists of: unreserved bytes and sub-delimiters of RFC 3986.
    static let hostName = ByteSet(low: 0x2BFF_7FD2_0000_0000, high: 0x47FF_FFFE_87FF_FFFE)
    /// What stands between the brackets of an IPv6 address.
    static let addressInBrackets = ByteSet(low: 0x07FF_4000_0000_0000, high: 0x0000_007E_0000_007E)

    @inline(__always)
    func contains(_ byte: UInt8) -> Bool {
        let word = byte & 0x40 == 0 ? low : high
        return byte < 0x80 && (word &>> UInt64(byte & 0x3F)) & 1 == 1
    }
}
