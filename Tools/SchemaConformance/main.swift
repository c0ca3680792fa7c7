// Compares the schema compiler and the validator with the official JSON Schema Test Suite.
//
//     schema-conformance DIR
//
// Reads every .json file below DIR. A file contains groups, which are schemas with tests, as in the folder draft2020-12
// of the test suite. The compiler may refuse a schema with features that settingsd does not support, or with a default
// that the schema itself does not allow. All tests of any other schema must have the expected results. The program
// prints the refused groups with the reasons. It exits with 1 if a test has another result, if a schema is refused for
// another reason, if a file cannot be read or parsed, or if there are no groups.

import Foundation
import SettingsModel

guard CommandLine.arguments.count == 2 else {
    FileHandle.standardError.write(Data("usage: schema-conformance DIR\n".utf8))
    exit(64)
}
let folder = URL(filePath: CommandLine.arguments[1], directoryHint: .isDirectory)
let files = FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil)?.compactMap { $0 as? URL } ?? []
var tally = ConformanceTally()
for file in files.filter({ $0.pathExtension == "json" }).sorted(by: { $0.path() < $1.path() }) {
    do {
        let groups = try JSONValue(parsing: [UInt8](Data(contentsOf: file)), maximumDepth: 256)
        try tally.add(file.lastPathComponent, groups)
    } catch {
        tally.addUnreadableFile("\(file.lastPathComponent): \(error)")
    }
}
print(tally.report)
exit(tally.isConforming ? 0 : 1)
