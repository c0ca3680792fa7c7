import Foundation
import SettingsClientCompatibility

// A program that writes numbers, one after the other, and says of each when its setter has returned:
//
//     outbox-writer SERVER DIRECTORY FIRST LAST

let arguments = CommandLine.arguments
guard arguments.count == 5, let first = Int64(arguments[3]), let last = Int64(arguments[4]) else {
    FileHandle.standardError.write(Data("usage: outbox-writer SERVER DIRECTORY FIRST LAST\n".utf8))
    exit(EX_USAGE)
}

let writer = DefaultsAdapter(
    suite: try SuiteName("app"), keyStore: DefaultsKeys(), server: try ServerAddress(arguments[1]),
    timeout: .milliseconds(100), outbox: .directory(arguments[2]), arguments: [])

for number in first...last {
    writer["log"] += [.integer(number)]
    FileHandle.standardError.write(Data("wrote \(number).\n".utf8))
}
