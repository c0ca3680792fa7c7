internal import SettingsStorage

/// A text in the exposition format of Prometheus.
struct MetricsText {
    var text = ""

    /// Begins a metric of a type such as `counter`. The calling code then adds the samples of the metric.
    mutating func beginMetric(_ name: String, type: String, _ help: String) {
        text += "# HELP \(name) \(help)\n# TYPE \(name) \(type)\n"
    }

    /// Adds a sample of the metric that was begun last.
    mutating func addSample(_ name: String, _ labels: [(String, String)], _ value: String) {
        let list = labels.map { "\($0.0)=\"\($0.1)\"" }.joined(separator: ",")
        text += "\(name)\(list.isEmpty ? "" : "{\(list)}") \(value)\n"
    }

    mutating func addGauge(_ name: String, _ help: String, _ value: some CustomStringConvertible) {
        beginMetric(name, type: "gauge", help)
        addSample(name, [], value.description)
    }

    mutating func addCounter(_ name: String, _ help: String, _ value: some CustomStringConvertible) {
        beginMetric(name, type: "counter", help)
        addSample(name, [], value.description)
    }

    /// Adds the samples of a histogram. The divisor converts the unit of the values, such as nanoseconds to seconds.
    mutating func addSamples(
        _ name: String, _ labels: [(String, String)], of histogram: Histogram, dividedBy divisor: Double
    ) {
        for (bound, count) in histogram.buckets {
            let bound = bound.map { Self.formatted(Double($0) / divisor) } ?? "+Inf"
            addSample("\(name)_bucket", labels + [("le", bound)], "\(count)")
        }
        addSample("\(name)_sum", labels, Self.formatted(Double(histogram.sum) / divisor))
        addSample("\(name)_count", labels, "\(histogram.count)")
    }

    /// Writes an integral value without a fraction.
    private static func formatted(_ value: Double) -> String {
        value == value.rounded() && value < 1e15 ? "\(Int(value))" : "\(value)"
    }
}
