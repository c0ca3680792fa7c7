import Foundation
import SettingsModel
import SettingsServer
import Testing

struct ShippedConfigurationTests {
    private static let root = URL(filePath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    @Test func `The file that is shipped has every option with its default, in the order of the table`() throws {
        let text = try String(contentsOf: Self.root.appending(path: "config/settingsd.json"), encoding: .utf8)
        #expect(text == Configuration().document.text(style: .pretty) + "\n")
    }

    @Test func `The reference names every option and every exit code`() throws {
        let text = try String(contentsOf: Self.root.appending(path: "docs/operations.md"), encoding: .utf8)
        for (group, value) in try #require(Configuration().document.object).map({ ($0.name, $0.value) }) {
            for name in value.object.map({ $0.names.map { "\(group).\($0)" } }) ?? [group] {
                #expect(text.contains("`\(name)`"), "\(name)")
            }
        }
        for code in ExitCode.allCases { #expect(text.contains("| \(code.rawValue) |"), "\(code)") }
    }
}
