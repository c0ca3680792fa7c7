internal import Glibc
package import Testing

/// Runs the closure, and fails if its CPU time exceeds the time of a linear algorithm on a slow machine. The tests
/// choose a size with which a linear algorithm takes well under a second, and a quadratic algorithm takes minutes. Only
/// the CPU time of this thread counts, so other processes do not matter.
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
