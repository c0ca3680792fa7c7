extension Unicode.Scalar {
    /// The scalar by its number, as `U+0009`, for messages about what cannot be shown.
    var codePointText: String {
        let digits = String(value, radix: 16, uppercase: true)
        return "U+" + String(repeating: "0", count: max(0, 4 - digits.utf8.count)) + digits
    }
}
