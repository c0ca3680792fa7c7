internal import Glibc
package import Testing

/// Runs something that a linear algorithm does in well under a second and a quadratic one in minutes, and fails if it
/// took longer than a slow machine needs for the former. It counts what this thread computes, so that it does not matter
/// what else the machine does.
package func expectLinearTime<Result>(
    sourceLocation: SourceLocation = #_sourceLocation, _ body: () throws -> Result
) rethrows -> Result {
    let limit = 10.0
    let start = secondsOfThisThread()
    let result = try body()
    let spent = secondsOfThisThread() - start
    #expect(spent < limit, "took \(spent) s", sourceLocation: sourceLocation)
    return result
}

private func secondsOfThisThread() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
}
