package import SettingsModel
package import SettingsWeb

/// Where values are from: the defaults, the file, the environment, the command line. Each beats those before it.
extension Configuration {
    /// The variable that names the configuration file.
    static let fileVariable = "SETTINGSD_CONFIG"

    /// Takes over the variables `SETTINGSD_…` of an environment. As in a file, a name that no option has is an error.
    package mutating func apply(environment: [String: String]) throws(ConfigurationError) {
        for option in Option.all {
            guard let text = environment[option.variable] else { continue }
            try option.take(
                option.json(inVariable: text), called: option.variable, from: "environment \(option.variable)",
                into: &self)
        }
        let known = Option.all.map(\.variable) + [Self.fileVariable]
        for name in environment.keys.sorted() where name.hasBytePrefix("SETTINGSD_") && !known.contains(name) {
            let rest = String(decoding: name.utf8.dropFirst("SETTINGSD_".utf8.count), as: UTF8.self)
            guard !Self.isLink(rest) else { continue }
            // The name of the object may be missing.
            let nearest =
                known.filter { $0.utf8.reversed().starts(with: "_\(rest)".utf8.reversed()) }.min { $0.count < $1.count }
                ?? NameSuggestion.nearest(to: name, among: known, limit: 1).first
            throw ConfigurationError(
                "unknown variable \(name) in the environment",
                remedy: nearest.map { "did you mean \($0)?" } ?? "man settingsd.json lists the options")
        }
    }

    /// True if Kubernetes or Docker sets the variable, here without `SETTINGSD_`, in every container beside a service whose
    /// name is settingsd or begins so.
    private static func isLink(_ rest: String) -> Bool {
        let name = "_" + rest
        return ["_SERVICE_HOST", "_SERVICE_PORT", "_PORT"].contains { name.hasSuffix($0) }
            || ["_SERVICE_PORT_", "_PORT_", "_ENV_"].contains { name.contains($0) } || rest == "NAME"
    }

    /// Takes over the data directory that results, with the reason.
    mutating func settle(_ location: DataLocation) {
        if data == nil { sources["data"] = location.reason }
        data = location.path
    }

    /// Returns where the value of an option is from, as `file /etc/settingsd/settingsd.json`.
    package func source(of option: String) -> String { sources[option] ?? "default" }

    /// Every option with its value and its source, in columns.
    package var listing: String {
        let rows = Option.all.map { [$0.name, $0.write(self).text(), source(of: $0.name)] }
        // A long value moves its own row only.
        let widths = [rows.map { $0[0].count }.max() ?? 0, 24]
        return rows.map { row in
            zip(row, widths).map { $0 + String(repeating: " ", count: max(0, $1 - $0.count)) }.joined(separator: "  ")
                + "  " + row[2]
        }.joined(separator: "\n")
    }

    /// The same for programs: an object with a member for each option.
    package var sourcedDocument: JSONValue {
        var document = JSONObject()
        for option in Option.all {
            document[option.name] = ["value": option.write(self), "from": .string(source(of: option.name))]
        }
        return .object(document)
    }
}

extension Option {
    /// The name of its variable: `SETTINGSD_LIMITS_BUFFER_BYTES` for `limits.bufferBytes`.
    package var variable: String {
        let words = path.map { name in
            name.map { $0.isUppercase ? "_\($0)" : $0.uppercased() }.joined()
        }
        return "SETTINGSD_" + words.joined(separator: "_")
    }

    /// Takes a value in, and notes its source.
    func take(
        _ value: JSONValue, called name: String, from source: String, into configuration: inout Configuration
    ) throws(ConfigurationError) {
        try read(value, name, &configuration)
        configuration.sources[self.name] = source
        if path.first?.hasSameBytes(as: "access") ?? false { configuration.access.isPresent = true }
    }

    /// Returns the value that a file would have, or a text that the option refuses.
    func json(inVariable text: String) -> JSONValue {
        switch form {
        case .text: return .string(text)
        case .path: return text.isEmpty ? .null : .string(text)
        case .json:
            do {
                return try JSONValue(parsing: Array(text.utf8))
            } catch {
                return .string(text)
            }
        case .list: return .array(Self.elements(of: text).map { .string($0) })
        case .grants:
            // The rights of a grant have commas between them, too.
            var grants: [String] = []
            for element in Self.elements(of: text) {
                if element.contains(":") || grants.isEmpty {
                    grants.append(element)
                } else {
                    grants[grants.count - 1] += ",\(element)"
                }
            }
            return .array(grants.map { .string($0) })
        }
    }

    private static func elements(of text: String) -> [String] {
        guard !text.allSatisfy({ $0 == " " }) else { return [] }
        return text.split(separator: ",", omittingEmptySubsequences: false).map { element in
            var element = element.drop { $0 == " " }
            while element.last == " " { element.removeLast() }
            return String(element)
        }
    }
}
