// Compares the speed with which SettingsModel and Foundation's JSONSerialization parse and write typical settings. Each
// round measures both. Prints the median times and their ratio. Usage: `swift run -c release json-benchmark [ROUNDS]`.

import Foundation
import SettingsModel

let rounds = CommandLine.arguments.dropFirst().first.flatMap { Int($0) } ?? 15

func median(_ values: [Double]) -> Double {
    values.sorted()[values.count / 2]
}

/// Returns the mean seconds of a call. With many calls, the time to read the clock is negligible.
func secondsPerCall(_ calls: Int, _ body: () throws -> Void) rethrows -> Double {
    let clock = ContinuousClock()
    let start = clock.now
    for _ in 0..<calls { try body() }
    let spent = clock.now - start
    return (Double(spent.components.seconds) + Double(spent.components.attoseconds) / 1e18) / Double(calls)
}

/// Prints a line with the median times of both implementations, and the time of `theirs` divided by the time of `ours`.
func compare(_ label: String, bytes: Int, ours: () throws -> Void, theirs: () throws -> Void) rethrows {
    // All calls of `ours` in a round together parse or write about 4 MB.
    let calls = max(1, 4_000_000 / bytes)
    var ourTimes: [Double] = []
    var theirTimes: [Double] = []
    for _ in 0..<rounds {
        ourTimes.append(try secondsPerCall(calls, ours))
        // Fewer calls, because JSONSerialization needs more time for each call.
        theirTimes.append(try secondsPerCall(max(1, calls / 4), theirs))
    }
    let (our, their) = (median(ourTimes), median(theirTimes))
    func column(_ seconds: Double) -> String {
        String(format: "%10.1f µs %7.1f MB/s", seconds * 1e6, Double(bytes) / seconds / 1e6)
    }
    print(label.padding(toLength: 18, withPad: " ", startingAt: 0), column(our), column(their), terminator: "")
    print(String(format: "  %5.2f×", their / our))
}

print("document           SettingsModel                JSONSerialization            ratio")
for (name, size) in [("1 KB", 1_000), ("1 MB", 1_000_000)] {
    let document = TypicalSettings.document(ofAtLeast: size)
    let bytes = document.bytes()
    let data = Data(bytes)
    let foundation = try JSONSerialization.jsonObject(with: data)
    guard try JSONValue(parsing: bytes) == document else {
        fatalError("the parsed document differs from the written document")
    }

    try compare("parse \(name)", bytes: bytes.count) {
        _ = try JSONValue(parsing: bytes)
    } theirs: {
        _ = try JSONSerialization.jsonObject(with: data)
    }
    try compare("write \(name)", bytes: bytes.count) {
        _ = document.bytes()
    } theirs: {
        _ = try JSONSerialization.data(withJSONObject: foundation)
    }
}
