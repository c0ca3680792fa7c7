import Foundation
import SettingsModel
import SettingsServer
import SettingsWeb
import TestSupport
import Testing

@Suite(.ownThread)
struct ShippedConfigurationTests {
    private static let root = URL(filePath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    @Test("The shipped file has every option but access with its default, in the order of the table")
    func fileShippedHasEvery() throws {
        let text = try String(contentsOf: Self.root.appending(path: "config/settingsd.json"), encoding: .utf8)
        var options = try #require(Configuration().document.object)
        options["access"] = nil
        #expect(text == JSONValue.object(options).text(style: .pretty) + "\n")
    }

    @Test(
        "The shipped files leave access control off",
        arguments: ["config/settingsd.json", "config/package/settingsd.json"])
    func shippedFilesLeaveAccessControlOff(path: String) throws {
        var configuration = Configuration()
        try configuration.apply(fileAt: Self.root.appending(path: path).path)
        #expect(!configuration.access.isConfigured)
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

    @Test("The unit does not repeat a start that ended with an error that a restart does not correct")
    func unitHasExitCodes() throws {
        let unit = try String(contentsOf: Self.root.appending(path: "config/settingsd.service"), encoding: .utf8)
        let codes = [ExitCode.usage, .damagedData, .cannotWrite, .configuration].map { "\($0.rawValue)" }
        #expect(unit.contains("\nRestartPreventExitStatus=\(codes.joined(separator: " "))\n"))
    }
}
