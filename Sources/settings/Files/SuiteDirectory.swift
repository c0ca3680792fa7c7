import Platform
import SettingsHTTP
import SettingsModel

/// A directory with a file `SUITE.json` for each suite. The directory may also contain other files.
struct SuiteDirectory {
    private static let ending = ".json"
    private static let fileSystem = POSIXFileSystem()

    private let path: String
    /// The names of all files, ordered.
    private let names: [String]

    /// Lists a directory. Returns nil if the path does not exist or is not a directory.
    init?(at path: String) throws(ToolError) {
        do throws(FileError) {
            names = try Self.fileSystem.list(path).sorted()
        } catch {
            guard !error.isMissing else { return nil }
            throw ToolError(.failed, "cannot read \(path): \(error.reason)")
        }
        self.path = path.hasSuffix("/") ? path : "\(path)/"
    }

    /// Lists a directory. Creates the directory if it does not exist.
    init(creating path: String) throws(ToolError) {
        do throws(FileError) {
            try Self.fileSystem.makeDirectory(path)
        } catch {
            throw ToolError(.failed, "cannot create \(path): \(error.reason)")
        }
        guard let directory = try SuiteDirectory(at: path) else {
            throw ToolError(.failed, "cannot write to \(path): the file is not a directory")
        }
        self = directory
    }

    /// The names of the suites that have a file. Ignores hidden files, such as the temporary files of editors.
    private func suites() throws(ToolError) -> [SuiteName] {
        var suites: [SuiteName] = []
        for name in names where name.hasSuffix(Self.ending) && !name.hasPrefix(".") {
            guard let suite = try? SuiteName(String(name.dropLast(Self.ending.count))) else {
                throw ToolError(
                    .failed,
                    "cannot read \(Terminal.escaped((path + name).withVisibleBytes)): the name before \(Self.ending) is not a valid name of a suite"
                )
            }
            suites.append(suite)
        }
        return suites
    }

    private func file(of suite: SuiteName) -> String { "\(path)\(suite)\(Self.ending)" }

    /// Reads the values of all suites that have a file.
    func values() throws -> [SuiteValues] {
        let suites = try suites()
        // Without this error, a wrong path would look like a directory whose suites need no change.
        guard !suites.isEmpty else {
            throw ToolError(.failed, "cannot read \(path): it has no file of a suite, such as app\(Self.ending)")
        }
        return try suites.map { suite in
            let file = file(of: suite)
            // JSON contains the types of the values, so reading the file needs no schema.
            let settings = try SuiteFileFormat.json.settings(of: try InputFile.bytes(of: file), from: file) { nil }
            return SuiteValues(suite: suite, settings: settings)
        }
    }

    /// Returns the files of all suites except the given suites.
    func files(except suites: some Sequence<SuiteName>) throws(ToolError) -> [(suite: SuiteName, path: String)] {
        let known = Set(suites)
        return try self.suites().filter { !known.contains($0) }.map { ($0, file(of: $0)) }
    }

    /// Replaces the file of a suite, unless the file already has these bytes. Other processes see the old file or the
    /// complete new file. The new file is not synced, so it may be incomplete after a power failure.
    func write(_ bytes: [UInt8], of suite: SuiteName) throws(ToolError) {
        let file = file(of: suite)
        guard (try? FileContents.read(file)) != bytes else { return }
        let temporary = "\(path).\(suite).\(String(UInt64.random(in: 0 ... .max), radix: 36)).tmp"
        do throws(FileError) {
            do throws(FileError) {
                let new = try OpenFile(temporary, .new, in: Self.fileSystem, reportedAs: file)
                if let old = try? Self.fileSystem.status(file) { try new.setAccess(like: old) }
                try new.write(bytes.span, at: 0)
                try Self.fileSystem.rename(temporary, to: file)
            } catch {
                try? Self.fileSystem.remove(temporary)
                throw error
            }
        } catch {
            throw ToolError(.failed, "cannot write \(file): \(error.reason)")
        }
    }

    static func remove(_ file: String) throws(ToolError) {
        do throws(FileError) {
            try fileSystem.remove(file)
        } catch {
            throw ToolError(.failed, "cannot remove \(file): \(error.reason)")
        }
    }
}

/// The stored values of a suite in a file or a directory.
struct SuiteValues {
    let suite: SuiteName
    let settings: [StoredSetting]

    /// Reads the values of several suites from a directory, or from a file of the form `{"suites":{…}}`.
    static func all(at path: String, _ arguments: Arguments) throws -> [SuiteValues] {
        if path != "-", let directory = try SuiteDirectory(at: path) { return try directory.values() }
        let (file, document) = (InputFile.name(path), try InputFile.json(path, arguments))
        guard let object = document.object, object.count == 1, let suites = object["suites"]?.object else {
            throw ToolError(
                .failed,
                "cannot read \(file): expected {\"suites\":{\"SUITE\":{\"KEY\":value}}}; for a file of 'settings export "
                    + "SUITE', use 'settings import SUITE FILE'")
        }
        return try suites.map { member in
            guard let suite = try? SuiteName(member.name) else {
                throw ToolError(
                    .failed, "cannot read \(file): '\(Terminal.escaped(member.name))' is not a valid name of a suite")
            }
            return SuiteValues(suite: suite, settings: try StoredSetting.all(of: member.value))
        }
    }

    /// Returns the document that ``all(at:_:)`` reads from a file.
    static func document(of all: [SuiteValues]) -> JSONValue {
        var suites = JSONObject()
        for values in all {
            suites.append(.init(name: values.suite.text, value: .object(JSONObject(values.settings))))
        }
        return .members(["suites": .object(suites)])
    }
}
