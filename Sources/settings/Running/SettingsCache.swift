import Platform
import SettingsHTTP
import SettingsModel

/// A file with the last known settings, for a start without the daemon.
struct SettingsCache {
    let path: String

    /// Reads the settings of suites; nil if the file does not exist. Throws if the file lacks a suite, has
    /// another prefix, or was written without secrets although the mapping includes secrets.
    func load(_ suites: [SuiteName], _ mapping: VariableMapping) throws(ToolError) -> [EffectiveSetting]? {
        do throws(FileError) {
            _ = try POSIXFileSystem().status(path)
        } catch {
            if error.isMissing { return nil }
        }
        let document = try InputFile.json(parsing: try InputFile.bytes(of: path))
        guard document["prefix"]?.string?.hasSameBytes(as: mapping.keyPrefix) ?? false else {
            throw ToolError(.failed, "the file does not have the keys of this prefix")
        }
        guard !mapping.includesSecrets || document["secrets"] != nil else {
            throw ToolError(.failed, "the file was written without --secrets")
        }
        var settings: [EffectiveSetting] = []
        for suite in suites {
            guard let values = document["suites"]?[suite.text]?.object else {
                throw ToolError(.failed, "the file does not have the suite \(suite)")
            }
            let secrets = Set(
                (document["secrets"]?[suite.text]?.array ?? []).compactMap { $0.string.map(UTF8Text.init) })
            for member in values {
                settings.append(
                    EffectiveSetting(
                        suite: suite, key: try .named(member.name), value: member.value,
                        isSecret: secrets.contains(UTF8Text(member.name))))
            }
        }
        return settings
    }

    /// Replaces the file, unless it has the same settings already. Only the owner can read the file. Other processes see
    /// the old file or the complete new file, also after a crash of the machine.
    func store(_ settings: [EffectiveSetting], of suites: [SuiteName], _ mapping: VariableMapping) throws(ToolError) {
        let text = document(of: settings, suites, mapping).text(style: .pretty) + "\n"
        guard (try? FileContents.read(path)) != Array(text.utf8) else { return }
        let files = POSIXFileSystem()
        let temporary = "\(path).\(String(UInt64.random(in: 0 ... .max), radix: 36)).tmp"
        do throws(FileError) {
            do throws(FileError) {
                let new = try OpenFile(temporary, .new, in: files, reportedAs: path)
                try new.write(text.utf8Span.span, at: 0)
                try new.sync()
                try files.rename(temporary, to: path)
            } catch {
                try? files.remove(temporary)
                throw error
            }
            try files.syncDirectory(path.parentDirectory ?? ".")
        } catch {
            throw ToolError(.failed, "cannot write the cache \(path): \(error.reason)")
        }
    }

    private func document(
        of settings: [EffectiveSetting], _ suites: [SuiteName], _ mapping: VariableMapping
    ) -> JSONValue {
        var (values, secrets) = (JSONObject(), JSONObject())
        for suite in suites {
            var (members, names) = (JSONObject(), [JSONValue]())
            for setting in settings where setting.suite == suite && (mapping.includesSecrets || !setting.isSecret) {
                guard let value = setting.value else { continue }
                members.append(.init(name: setting.key.text, value: value))
                if setting.isSecret { names.append(.string(setting.key.text)) }
            }
            values.append(.init(name: suite.text, value: .object(members)))
            if !names.isEmpty { secrets.append(.init(name: suite.text, value: .array(names))) }
        }
        return .members([
            "prefix": .string(mapping.keyPrefix), "suites": .object(values),
            "secrets": mapping.includesSecrets ? .object(secrets) : nil,
        ])
    }
}
