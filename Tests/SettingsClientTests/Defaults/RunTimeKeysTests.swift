import Glibc
import SettingsClient
import SettingsClientTesting
import TestSupport
import Testing

@Suite(.ownThread)
struct RunTimeKeysTests {
    /// Returns the CPU time of this thread in seconds. Other processes do not affect the CPU time.
    private func seconds(_ body: () -> Void) -> Double {
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
        /// Returns the average seconds of a first read of `count` keys.
        func secondsPerRead(of count: Int) -> Double {
            let defaults = DefaultsAdapter.inMemory(keyStore: DefaultsKeys())
            return seconds {
                for number in 0..<count {
                    #expect(defaults[key: DefaultsKey<Int>("k.\(number)", defaultValue: number)] == number)
                }
            } / Double(count)
        }
        // The first call is a warm-up.
        _ = secondsPerRead(of: 100)
        let (few, many) = (secondsPerRead(of: 1000), secondsPerRead(of: 16_000))
        #expect(many < 4 * few, "\(many) s for each of 16,000 keys, and \(few) s for each of 1000 keys")
    }

    @Test("Each key has its own value and default among thousands")
    func values() {
        let defaults = DefaultsAdapter.inMemory(keyStore: DefaultsKeys())
        func key(_ number: Int) -> DefaultsKey<Int> { DefaultsKey<Int>("k.\(number)", defaultValue: -number) }
        for number in 0..<3000 { #expect(defaults[key: key(number)] == -number) }
        for number in stride(from: 0, to: 3000, by: 7) { defaults[key: key(number)] = number }
        for number in 0..<3000 { #expect(defaults[key: key(number)] == (number % 7 == 0 ? number : -number)) }
    }
}
