// Holds the schema compiler and validator against the official JSON Schema Test Suite.
//
//     schema-conformance DIR
//
// Reads every .json file below DIR (groups of a schema with tests, as in the suite's draft2020-12 folder). Each group
// must either compile and agree with all its tests, or be refused: for something that schemas for settings do not
// have, or for a default that its own schema does not allow. Prints what was refused and why; exits 1 if any test
// disagrees or any group is refused for another reason.

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
        tally.unreadable("\(file.lastPathComponent): \(error)")
    }
}
print(tally.report)
exit(tally.isSound ? 0 : 1)
