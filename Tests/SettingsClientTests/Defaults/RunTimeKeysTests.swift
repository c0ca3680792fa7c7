import Glibc
import SettingsClient
import SettingsClientTesting
import TestSupport
import Testing

@Suite(.ownThread)
struct RunTimeKeysTests {
    /// Processor time of this thread, which does not depend on what else the machine does.
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

    @Test("The first read of a key costs the same whether a thousand keys were read before or sixteen thousand")
    func linear() {
        func cost(of count: Int) -> Double {
            let defaults = DefaultsAdapter.inMemory(keyStore: DefaultsKeys())
            return seconds {
                for number in 0..<count {
                    #expect(defaults[key: DefaultsKey<Int>("k.\(number)", defaultValue: number)] == number)
                }
            } / Double(count)
        }
        _ = cost(of: 100)
        let (few, many) = (cost(of: 1000), cost(of: 16_000))
        #expect(many < 4 * few, "\(many) s each, and \(few) s of few")
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
