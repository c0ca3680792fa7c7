import Foundation
import TestSupport
import Testing

/// Tests that the documentation names the version of the programs.
@Suite(.ownThread)
struct VersionTests {
    private let version: String

    init() throws {
        let output = try ChildProcess.run(["--version"]).output
        version = String(output.trimmingPrefix("settingsd ").dropLast())
    }

    @Test("Both programs have the same version, which consists of three numbers")
    func programs() throws {
        let tool = try ChildProcess(["--version"], environment: [], of: ChildProcess.built("settings")).end().output
        #expect(tool == "settings \(version)\n")
        #expect(try /\d+\.\d+\.\d+/.wholeMatch(in: version) != nil)
    }

    @Test(
        "Pages use the version of the programs in package names and in the dependency of a Package.swift",
        arguments: PageExampleTests.pages)
    func pages(_ path: String) throws {
        let text = try Article(path: path).lines.joined(separator: "\n")
        for name in text.matches(of: /(settingsd[_-]|from: ")(\d+\.\d+\.\d+)/) {
            #expect(name.2 == version, "\(path): \(name.0)")
        }
    }

    @Test("README.md and the newest heading of CHANGELOG.md have the version of the programs")
    func firstPages() throws {
        let readme = try Article(path: "README.md").lines.joined(separator: "\n")
        #expect(readme.contains("settingsd_\(version)-1_") && readme.contains("from: \"\(version)\""))
        let headings = try Article(path: "CHANGELOG.md").lines.filter { $0.hasPrefix("## ") && $0 != "## [Unreleased]" }
        #expect(headings.first?.hasPrefix("## [\(version)] - ") == true)
    }
}
