import SettingsModel

@testable import SettingsAPI

/// The numbers that several runs of `outbox-writer` in its mixed mode have written, and a check of the values that the
/// daemon stores.
///
/// `Tests/OutboxWriter/MixedWriter.swift` says which number is written to which key.
struct WrittenNumbers {
    /// The values of the suite. The program writes increasing numbers, so the values show which writes the daemon has
    /// done.
    struct State {
        var first = 0
        var second = 0
        var sum = 0
        var numbers: [Int] = []

        /// The greatest number in `first`, `second` and `numbers`. The numbers in a sum cannot be recognized.
        var greatest: Int { max(first, second, numbers.last ?? 0) }
    }

    /// The first number of the next run.
    private(set) var next = 1
    /// The lines of the program that do not begin with `started`, `skipped`, `wrote` or `confirmed`.
    private(set) var failures: [String] = []
    /// The numbers whose write has returned.
    private var returned: [Int] = []
    /// The numbers that the killed runs were writing, one number of each run. The daemon may have stored these writes
    /// or not.
    private var interrupted: Set<Int> = []
    private var lastConfirmed = 0
    /// The state at the last check.
    private var checkedState = State()

    var areAllConfirmed: Bool { lastConfirmed == returned.last }

    /// Adds a run of the program.
    ///
    /// - Parameters:
    ///   - output: The lines that the program has printed, such as `started.`, `wrote 17.`, `confirmed 17.` and
    ///     `skipped 17.` (a call that wrote nothing).
    ///   - first: The first number of the run.
    ///   - isKilled: True if the test has killed the program.
    mutating func add(_ output: String, from first: Int, isKilled: Bool) {
        var last = first - 1
        var skipped: Set<Int> = []
        for line in output.split(separator: "\n") {
            let words = line.split(separator: " ")
            switch (words.first, words.last.flatMap { Int($0.dropLast()) }) {
            case ("started.", _): break
            case ("skipped", let number?): skipped.insert(number)
            case ("wrote", let number?), ("confirmed", let number?):
                // Both lines may name the same number, which counts once.
                if number > last, !skipped.contains(number) { returned.append(number) }
                last = number
                if words.first == "confirmed" { lastConfirmed = number }
            default: failures.append(String(line))
            }
        }
        if isKilled { interrupted.insert(last + 1) }
        // The run may have begun to write `last + 1`, so the next run does not write this number.
        next = last + 2
    }

    /// Returns the errors in the state that the daemon stores. The state has to contain all writes up to some number,
    /// which is at least the last confirmed number, and no write after that number.
    mutating func mistakes(in state: State) -> [String] {
        var mistakes: [String] = []
        let last = max(state.greatest, lastConfirmed)
        let expected = returned.prefix { $0 <= last }
        func check(_ key: String, value: Int, checkedValue: Int) {
            let isOfKey = { (number: Int) in Self.keys(of: number).contains(key) }
            if value != 0, !isOfKey(value) { mistakes.append("\(key) is \(value), which was never written there") }
            let least = max(checkedValue, expected.last(where: isOfKey) ?? 0)
            if value < least { mistakes.append("\(key) is \(value), but must be at least \(least)") }
        }
        check("first", value: state.first, checkedValue: checkedState.first)
        check("second", value: state.second, checkedValue: checkedState.second)
        let missing = Set(expected.filter { Self.keys(of: $0) == ["numbers"] }).subtracting(state.numbers)
        if !missing.isEmpty { mistakes.append("numbers lacks \(missing.sorted())") }
        if zip(state.numbers, state.numbers.dropFirst()).contains(where: >=) {
            mistakes.append("numbers is not in order: \(state.numbers)")
        }
        if !state.numbers.allSatisfy({ Self.keys(of: $0) == ["numbers"] }) {
            mistakes.append("numbers has wrong elements: \(state.numbers)")
        }
        // The sum may also contain the next returned number after `last`, because `greatest` does not take the numbers
        // in the sum into account.
        let uncertain = interrupted.union(returned.first { $0 > last }.map { [$0] } ?? [])
        // The sums with and without each uncertain number.
        var sums: Set = [expected.filter { Self.keys(of: $0) == ["sum"] }.reduce(0, +)]
        for number in uncertain where Self.keys(of: number) == ["sum"] { sums.formUnion(sums.map { $0 + number }) }
        if !sums.contains(state.sum) { mistakes.append("sum is \(state.sum), not one of \(sums.sorted())") }
        checkedState = state
        return mistakes
    }

    /// The keys to which `outbox-writer` writes a number.
    private static func keys(of number: Int) -> [String] {
        number % 11 == 0 ? ["first", "second"] : [["first", "second", "sum", "numbers"][number % 4]]
    }
}

extension WrittenNumbers.State {
    init(_ contents: SuiteContents) {
        func number(_ name: String) -> Int { contents[name]?.integer.map { Int($0) } ?? 0 }
        first = number("first")
        second = number("second")
        sum = number("sum")
        numbers = (contents["numbers"]?.array ?? []).compactMap { $0.integer.map { Int($0) } }
    }
}
