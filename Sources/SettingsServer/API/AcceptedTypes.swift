/// The media ranges of an `Accept` field, each with its quality.
struct AcceptedTypes {
    private var ranges: [(type: String, quality: Int)] = []

    /// Reads the field. A range whose quality cannot be read counts as not accepted.
    init(_ field: String) {
        for range in field.split(separator: ",") {
            let parts = range.split(separator: ";").map { part in part.filter { $0 != " " && $0 != "\t" }.lowercased() }
            guard let type = parts.first else { continue }
            let quality = parts.dropFirst().first { $0.hasPrefix("q=") }
            ranges.append((type, quality.map { Self.thousandths($0.dropFirst(2)) } ?? 1000))
        }
    }

    /// True if a type is named itself, not by a range such as `*/*`.
    func names(_ type: String) -> Bool {
        ranges.contains { $0.type == type }
    }

    /// The quality of a type in thousandths: that of the narrowest range that it is in, or 0.
    func quality(of type: String) -> Int {
        let family = type.prefix { $0 != "/" } + "/*"
        for name in [type, String(family), "*/*"] {
            if let range = ranges.first(where: { $0.type == name }) { return range.quality }
        }
        return 0
    }

    /// A quality as `0.25`: a digit, and up to three behind a point.
    private static func thousandths(_ text: Substring) -> Int {
        let parts = text.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
        guard let whole = parts.first, whole == "0" || whole == "1" else { return 0 }
        let digits = parts.count > 1 ? parts[1] : ""
        guard digits.utf8.count <= 3, digits.utf8.allSatisfy({ UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }) else {
            return 0
        }
        let fraction = Int(digits + String(repeating: "0", count: 3 - digits.utf8.count)) ?? 0
        return min(1000, (whole == "1" ? 1000 : 0) + fraction)
    }
}
