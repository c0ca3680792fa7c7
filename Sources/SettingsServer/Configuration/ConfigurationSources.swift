package import SettingsModel
package import SettingsWeb

/// Reads options from environment variables, and records the source of each value: the defaults, the file, the
/// environment or the command line. A later source in this list overrides an earlier source.
extension Configuration {
    /// The name of the environment variable with the path of the configuration file.
    static let fileVariable = "SETTINGSD_CONFIG"

    /// Applies the variables `SETTINGSD_…` of an environment. Throws if a variable with this prefix belongs to no
    /// option, unless it is ``fileVariable`` or comes from Kubernetes or Docker (`isServiceLink`).
    package mutating func apply(environment: [String: String]) throws(ConfigurationError) {
        for option in Option.all {
            guard let text = environment[option.variable] else { continue }
            try option.apply(
                option.json(inVariable: text), named: option.variable, from: "environment \(option.variable)",
                to: &self)
        }
        let known = Option.all.map(\.variable) + [Self.fileVariable]
        for name in environment.keys.sorted() where name.hasBytePrefix("SETTINGSD_") && !known.contains(name) {
            let suffix = String(decoding: name.utf8.dropFirst("SETTINGSD_".utf8.count), as: UTF8.self)
            guard !Self.isServiceLink(suffix) else { continue }
            // For `SETTINGSD_BUFFER_BYTES`, which lacks the group `LIMITS`, suggest `SETTINGSD_LIMITS_BUFFER_BYTES`.
            let candidates = known.filter { $0.utf8.reversed().starts(with: "_\(suffix)".utf8.reversed()) }
            let nearest =
                candidates.min { $0.count < $1.count }
                ?? NameSuggestion.nearest(to: name, among: known, limit: 1).first
            throw ConfigurationError(
                "unknown variable \(name) in the environment",
                remedy: nearest.map { "did you mean \($0)?" } ?? "man settingsd.json lists the options")
        }
    }

    /// True if the variable `SETTINGSD_` + `suffix` has the form of the variables that Kubernetes or Docker sets in
    /// every container if the name of a service begins with settingsd. `SETTINGSD_NAME` comes from a link between
    /// containers.
    private static func isServiceLink(_ suffix: String) -> Bool {
        let name = "_" + suffix
        return ["_SERVICE_HOST", "_SERVICE_PORT", "_PORT"].contains { name.hasSuffix($0) }
            || ["_SERVICE_PORT_", "_PORT_", "_ENV_"].contains { name.contains($0) } || suffix == "NAME"
    }

    /// Sets the data directory. If the configuration has none, the source says why the daemon chose this directory.
    mutating func setDataDirectory(_ location: DataLocation) {
        if data == nil { sources["data"] = location.reason }
        data = location.path
    }

    /// Returns the source of the value of an option, such as `file /etc/settingsd/settingsd.json`.
    package func source(of option: String) -> String { sources[option] ?? "default" }

    /// A text with a line for each option: its name, its value and its source, in columns.
    package var listing: String {
        let rows = Option.all.map { [$0.name, $0.write(self).text(), source(of: $0.name)] }
        // The column of values is 24 characters wide. A longer value shifts the source to the right in its row only.
        let widths = [rows.map { $0[0].count }.max() ?? 0, 24]
        return rows.map { row in
            zip(row, widths).map { $0 + String(repeating: " ", count: max(0, $1 - $0.count)) }.joined(separator: "  ")
                + "  " + row[2]
        }.joined(separator: "\n")
    }

    /// A JSON object with a member for each option, which contains its value and its source.
    package var sourcedDocument: JSONValue {
        var document = JSONObject()
        for option in Option.all {
            document[option.name] = ["value": option.write(self), "from": .string(source(of: option.name))]
        }
        return .object(document)
    }
}

extension Option {
    /// The name of the environment variable: `SETTINGSD_LIMITS_BUFFER_BYTES` for `limits.bufferBytes`.
    package var variable: String {
        let words = path.map { name in
            name.map { $0.isUppercase ? "_\($0)" : $0.uppercased() }.joined()
        }
        return "SETTINGSD_" + words.joined(separator: "_")
    }

    /// Sets the option and records the source of its value. `name` is the name of the option in error messages.
    func apply(
        _ value: JSONValue, named name: String, from source: String, to configuration: inout Configuration
    ) throws(ConfigurationError) {
        try read(value, name, &configuration)
        configuration.sources[self.name] = source
        if path.first?.hasSameBytes(as: "access") ?? false { configuration.access.isPresent = true }
    }

    /// Converts the text of an environment variable to the JSON value that a file would have. With the syntax `json`,
    /// returns a string if the text is not valid JSON; the option then refuses the string.
    func json(inVariable text: String) -> JSONValue {
        switch variableSyntax {
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
            // Commas also separate the rights of a grant, as in `app.*:read,write`. An element without a colon is a
            // further right of the grant before it.
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

    /// Splits a list at its commas, and removes the spaces around the elements.
    private static func elements(of text: String) -> [String] {
        guard !text.allSatisfy({ $0 == " " }) else { return [] }
        return text.split(separator: ",", omittingEmptySubsequences: false).map { element in
            var element = element.drop { $0 == " " }
            while element.last == " " { element.removeLast() }
            return String(element)
        }
    }
}
