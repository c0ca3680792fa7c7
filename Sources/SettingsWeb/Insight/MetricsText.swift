internal import SettingsStorage

/// A text of metrics as Prometheus reads it.
struct MetricsText {
    var text = ""

    mutating func begin(_ name: String, _ kind: String, _ help: String) {
        text += "# HELP \(name) \(help)\n# TYPE \(name) \(kind)\n"
    }

    mutating func add(_ name: String, _ labels: [(String, String)], _ value: String) {
        let list = labels.map { "\($0.0)=\"\($0.1)\"" }.joined(separator: ",")
        text += "\(name)\(list.isEmpty ? "" : "{\(list)}") \(value)\n"
    }

    mutating func gauge(_ name: String, _ help: String, _ value: some CustomStringConvertible) {
        begin(name, "gauge", help)
        add(name, [], value.description)
    }

    mutating func counter(_ name: String, _ help: String, _ value: some CustomStringConvertible) {
        begin(name, "counter", help)
        add(name, [], value.description)
    }

    /// Adds the samples of a histogram of which `begin` has told.
    ///
    /// - Parameter unit: what a value of one is divided by.
    mutating func add(_ name: String, _ labels: [(String, String)], _ histogram: Histogram, unit: Double) {
        for (bound, count) in histogram.buckets {
            let bound = bound.map { Self.number(Double($0) / unit) } ?? "+Inf"
            add("\(name)_bucket", labels + [("le", bound)], "\(count)")
        }
        add("\(name)_sum", labels, Self.number(Double(histogram.sum) / unit))
        add("\(name)_count", labels, "\(histogram.count)")
    }

    private static func number(_ value: Double) -> String {
        value == value.rounded() && value < 1e15 ? "\(Int(value))" : "\(value)"
    }
}
