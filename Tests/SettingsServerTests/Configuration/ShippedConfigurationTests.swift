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

    @Test
    func `The shipped file has every option except access with its default, in the order of the option table`() throws {
        let text = try String(contentsOf: Self.root.appending(path: "config/settingsd.json"), encoding: .utf8)
        var options = try #require(Configuration().document.object)
        // `document` has the options in the order of the option table `Option.all`. A member `access`, even with the
        // defaults, would turn access control on.
        options["access"] = nil
        #expect(text == JSONValue.object(options).text(style: .pretty) + "\n")
    }

    @Test(arguments: ["config/settingsd.json", "config/package/settingsd.json"])
    func `The shipped files leave access control off`(path: String) throws {
        var configuration = Configuration()
        try configuration.apply(fileAt: Self.root.appending(path: path).path)
        #expect(!configuration.access.isConfigured)
    }

    @Test
    func `The reference has every option with its type, its default, and whether a reload applies it`() throws {
        let text = try ["configuration", "limits"].map {
            try String(contentsOf: Self.root.appending(path: "docs/reference/\($0).md"), encoding: .utf8)
        }.joined()
        let defaults = try #require(Configuration().document.object)
        for option in Option.all {
            let names = option.name.split(separator: ".").map(String.init)
            let value = names.dropFirst().reduce(defaults[names[0]]) { $0?[$1] }
            let cells = [
                "`\(option.name)`", option.type, "`\(try #require(value))`", option.isReloadable ? "yes" : "no",
                option.help,
            ]
            let row = "| \(cells.joined(separator: " | ")) |"
            #expect(text.contains(row), "\(row)")
        }
    }

    @Test
    func `The page of messages has every exit code`() throws {
        let text = try String(contentsOf: Self.root.appending(path: "docs/reference/messages.md"), encoding: .utf8)
        for code in ExitCode.allCases {
            #expect(text.contains("| \(code.rawValue) | \(code.meaning) |\n"), "\(code)")
        }
    }

    @Test
    func `The systemd unit does not restart a daemon that ended with an error that a restart cannot correct`() throws {
        let unit = try String(contentsOf: Self.root.appending(path: "config/settingsd.service"), encoding: .utf8)
        let codes = [ExitCode.usage, .damagedData, .cannotWrite, .configuration].map { "\($0.rawValue)" }
        #expect(unit.contains("\nRestartPreventExitStatus=\(codes.joined(separator: " "))\n"))
    }
}
