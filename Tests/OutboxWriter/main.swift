import Foundation
import SettingsClientCompatibility

// A program that writes the numbers from FIRST to LAST in order. When the call that writes a number has returned, the
// program prints a line on standard error. Tests kill the program.
//
//     outbox-writer SERVER DIRECTORY FIRST LAST          appends each number to the array of the key `log`
//     outbox-writer SERVER DIRECTORY FIRST LAST mixed    writes the numbers with setters, transactions and
//                                                       other calls in turn (`MixedWriter`)

let arguments = CommandLine.arguments
guard arguments.count >= 5, let first = Int(arguments[3]), let last = Int(arguments[4]) else {
    FileHandle.standardError.write(Data("usage: outbox-writer SERVER DIRECTORY FIRST LAST [mixed]\n".utf8))
    exit(EX_USAGE)
}

let writer = DefaultsAdapter(
    suite: try SuiteName("app"), keyStore: WriterKeys(), server: try ServerAddress(arguments[1]),
    timeout: .milliseconds(100), outbox: .directory(arguments[2]), arguments: [],
    // A write that waits in the outbox has not failed.
    log: DefaultsLog(issues: { issue in
        if issue.attempt == .write, !issue.error.isKept { say("failed: \(issue)") }
    }))

if arguments.last == "mixed" {
    await MixedWriter(writer: writer).write(first...last)
} else {
    for number in first...last {
        writer["log"] += [.integer(Int64(number))]
        say("wrote \(number)")
    }
}
