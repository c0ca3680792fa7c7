package import Testing

/// Runs something that a linear algorithm does in well under a second and a quadratic one in minutes, and fails if it
/// took longer than a slow, busy machine needs for the former.
package func expectLinearTime<Result>(
    sourceLocation: SourceLocation = #_sourceLocation, _ body: () throws -> Result
) rethrows -> Result {
    let limit = Duration.seconds(10)
    let clock = ContinuousClock()
    let start = clock.now
    let result = try body()
    let spent = clock.now - start
    #expect(spent < limit, "took \(spent)", sourceLocation: sourceLocation)
    return result
}
