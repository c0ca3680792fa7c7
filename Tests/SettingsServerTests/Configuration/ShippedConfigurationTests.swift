import Foundation
import SettingsModel
import SettingsServer
import TestSupport
import Testing

@Suite(.ownThread)
struct ShippedConfigurationTests {
    private static let root = URL(filePath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    @Test("The file that is shipped has every option with its default, in the order of the table")
    func fileShippedHasEvery() throws {
        let text = try String(contentsOf: Self.root.appending(path: "config/settingsd.json"), encoding: .utf8)
        #expect(text == Configuration().document.text(style: .pretty) + "\n")
    }

    @Test("The manual has every option and every exit code as the program has them") func manualHasEveryOption() throws
    {
        let text = try String(contentsOf: Self.root.appending(path: "docs/operations.md"), encoding: .utf8)
        let defaults = try #require(Configuration().document.object)
        for option in Option.all {
            let names = option.name.split(separator: ".").map(String.init)
            let value = names.dropFirst().reduce(defaults[names[0]]) { $0?[$1] }
            let row = "| `\(option.name)` | `\(try #require(value))` | \(option.range) | \(option.help) |"
            #expect(text.contains(row + "\n"), "\(row)")
        }
        for code in ExitCode.allCases { #expect(text.contains("| \(code.rawValue) |"), "\(code)") }
    }
}
