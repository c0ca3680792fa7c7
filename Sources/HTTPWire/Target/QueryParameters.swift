/// The parameters of a query in their order, decoded: `a=b&c&d=`.
///
/// Nothing is left out in silence: what is not understood is for the caller to refuse by its name.
package struct QueryParameters: Hashable, Sendable {
    /// One `name=value`. A bare `name` has no value, `name=` an empty one; further equals signs belong to the value.
    package struct Parameter: Hashable, Sendable {
        package let name: String
        package let value: String?

        package init(name: String, value: String?) {
            self.name = name
            self.value = value
        }
    }

    package let all: [Parameter]

    /// Reads the query in a range of the bytes; nil and an empty one have no parameters. It may end in a `&`.
    package init(_ bytes: Span<UInt8>, _ query: Range<Int>?) throws(QueryError) {
        guard let query, !query.isEmpty else {
            all = []
            return
        }
        var parameters: [Parameter] = []
        var start = query.lowerBound
        repeat {
            var end = start
            var equals: Int?
            while end < query.upperBound, bytes[end] != UInt8(ascii: "&") {
                if equals == nil, bytes[end] == UInt8(ascii: "=") { equals = end }
                end += 1
            }
            parameters.append(try Self.parameter(bytes, start..<end, equals: equals))
            start = end + 1
        } while start < query.upperBound
        all = parameters
    }

    private static func parameter(
        _ bytes: Span<UInt8>, _ range: Range<Int>, equals: Int?
    ) throws(QueryError) -> Parameter {
        let nameEnd = equals ?? range.upperBound
        guard nameEnd > range.lowerBound else { throw .missingName }
        let name: String
        do {
            name = try PercentDecoding.text(bytes, range.lowerBound..<nameEnd)
        } catch {
            throw .badName(error)
        }
        guard let equals else { return Parameter(name: name, value: nil) }
        do {
            return Parameter(name: name, value: try PercentDecoding.text(bytes, equals + 1..<range.upperBound))
        } catch {
            throw .badValue(name: name, error)
        }
    }
}
