import Glibc
import SettingsClient
import SettingsClientTesting
import TestSupport
import Testing

/// Keys that the program creates at run time, without a declaration in the key store.
@Suite(.ownThread)
struct RunTimeKeysTests {
    /// Returns the seconds of CPU time that this thread takes for the body. Other processes do not affect the CPU time.
    private func cpuSeconds(_ body: () -> Void) -> Double {
        func now() -> Double {
            var time = timespec()
            clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
            return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
        }
        let start = now()
        body()
        return now() - start
    }

    @Test("The first read of a key takes the same time after 1000 and after 16,000 other keys")
    func linear() {
        /// Returns the average CPU seconds of the first read of a key, for `count` keys.
        func secondsPerRead(of count: Int) -> Double {
            let defaults = DefaultsAdapter.inMemory(keyStore: DefaultsKeys())
            return cpuSeconds {
                for number in 0..<count {
                    #expect(defaults[key: DefaultsKey<Int>("k.\(number)", defaultValue: number)] == number)
                }
            } / Double(count)
        }
        // The first call is a warm-up.
        _ = secondsPerRead(of: 100)
        let (few, many) = (secondsPerRead(of: 1000), secondsPerRead(of: 16_000))
        // If a read searched all earlier keys, the factor would be about 16.
        #expect(many < 4 * few, "\(many) s for each of 16,000 keys, and \(few) s for each of 1000 keys")
    }

    @Test("Each of 3000 keys has its own value and its own default")
    func values() {
        let defaults = DefaultsAdapter.inMemory(keyStore: DefaultsKeys())
        func key(_ number: Int) -> DefaultsKey<Int> { DefaultsKey<Int>("k.\(number)", defaultValue: -number) }
        for number in 0..<3000 { #expect(defaults[key: key(number)] == -number) }
        for number in stride(from: 0, to: 3000, by: 7) { defaults[key: key(number)] = number }
        for number in 0..<3000 { #expect(defaults[key: key(number)] == (number % 7 == 0 ? number : -number)) }
    }
}
