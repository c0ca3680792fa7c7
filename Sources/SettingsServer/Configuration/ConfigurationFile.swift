internal import HTTPServer
internal import HTTPWire
internal import Platform
internal import SettingsCluster
internal import SettingsEngine
package import SettingsModel
internal import SettingsStorage
package import SettingsWeb

/// Reads the configuration file, and renders a configuration in its format. A file with an unknown member is
/// refused, because the member could be a misspelt option. In messages, `briefPhrase` shows a value, or only its kind
/// and its size if it is long.
extension Configuration {
    /// The maximum length of a configuration file in bytes.
    private static let maximumLength = 1 << 20

    /// Applies the options in a file. Options that the file does not contain remain unchanged.
    package mutating func apply(fileAt path: String) throws(ConfigurationError) {
        do throws(ConfigurationError) {
            try apply(try Self.document(at: path), from: "file \(path)")
        } catch {
            throw ConfigurationError("\(path): \(error.problem)", remedy: error.remedy)
        }
    }

    /// The configuration as the JSON document of a file that contains every option.
    package var document: JSONValue {
        var document = JSONObject()
        for option in Option.all {
            switch (option.path.first, option.path.last) {
            case (let group?, let name?) where option.path.count > 1:
                var members = document[group]?.object ?? JSONObject()
                members[name] = option.write(self)
                document[group] = .object(members)
            case (_, let name?): document[name] = option.write(self)
            default: continue
            }
        }
        return .object(document)
    }

    private mutating func apply(_ document: JSONValue, from source: String) throws(ConfigurationError) {
        guard let object = document.object else {
            throw ConfigurationError(
                "the configuration is \(document.briefPhrase)", remedy: "it must be an object, as {\"log\":\"info\"}")
        }
        for member in object { try apply(member, in: [], from: source) }
    }

    private mutating func apply(
        _ member: JSONObject.Member, in group: [String], from source: String
    ) throws(ConfigurationError) {
        let path = group + [member.name]
        if let option = Option.all.first(where: { $0.path.isSame(as: path) }) {
            return try option.apply(member.value, named: option.name, from: source, to: &self)
        }
        guard group.isEmpty, Option.all.contains(where: { $0.isInside(path) }) else {
            throw Self.unknownMemberError(member, in: group)
        }
        guard let members = member.value.object else {
            throw ConfigurationError(
                "\(member.name) is \(member.value.briefPhrase)",
                remedy: "it must be an object with some of the members \(Self.names(in: path).joined(separator: ", "))")
        }
        // Access control is on if the file has the member `access`, even if the object is empty.
        if path.isSame(as: ["access"]) { access.isPresent = true }
        for member in members { try apply(member, in: path, from: source) }
    }

    /// Throws if the values of several options contradict each other.
    package func checkConsistency() throws(ConfigurationError) {
        let limits = transport.request
        func description(of option: String, _ value: Int) -> String { "\(option) (\(value), \(source(of: option)))" }
        guard limits.maximumTargetLength < limits.maximumHeadLength else {
            throw ConfigurationError(
                description(of: "limits.targetBytes", limits.maximumTargetLength) + " must be less than "
                    + description(of: "limits.headBytes", limits.maximumHeadLength),
                remedy: "lower the first or raise the second option")
        }
        guard etcd.endpoints.isEmpty || history.age == .max else {
            throw ConfigurationError(
                "history.days (\(source(of: "history.days"))) cannot be combined with etcd.endpoints: with etcd, the "
                    + "daemon keeps the history in memory only",
                remedy: "remove one of the two options")
        }
        guard etcd.endpoints.isEmpty || durability == .always else {
            throw ConfigurationError(
                "durability (\(source(of: "durability"))) cannot be combined with etcd.endpoints: etcd syncs always",
                remedy: "remove one of the two options")
        }
        // A queued write takes slightly more memory than the body of its request.
        let minimum = limits.maximumBodyLength + WriteRequest.overhead
        guard writes.waitingBytes >= minimum else {
            throw ConfigurationError(
                description(of: "limits.queuedWriteBytes", writes.waitingBytes) + " is too small for a body of "
                    + description(of: "limits.bodyBytes", limits.maximumBodyLength),
                remedy: "raise it to \(minimum) or more, or lower limits.bodyBytes")
        }
    }

    private static func document(at path: String) throws(ConfigurationError) -> JSONValue {
        let bytes = try contents(of: path, maximumLength: maximumLength)
        do {
            return try JSONValue(parsing: bytes)
        } catch {
            throw ConfigurationError(error.description, remedy: "correct the JSON in the file")
        }
    }

    /// Reads a file. Follows a symbolic link, because Kubernetes mounts configuration files as links. Never waits for
    /// a named pipe, because the start would hang if no process writes to the pipe.
    static func contents(of path: String, maximumLength: Int) throws(ConfigurationError) -> [UInt8] {
        let bytes: [UInt8]
        do throws(SystemError) {
            bytes = try FileContents.read(path, upTo: maximumLength + 1, waitsForPipe: false)
        } catch {
            throw ConfigurationError("cannot read the file: \(error)", remedy: "give the path of a readable file")
        }
        guard bytes.count <= maximumLength else {
            throw ConfigurationError(
                "the file is longer than \(maximumLength) bytes", remedy: "shorten it, or choose a different file")
        }
        return bytes
    }

    private static func unknownMemberError(_ member: JSONObject.Member, in group: [String]) -> ConfigurationError {
        let names = names(in: group)
        let location = group.isEmpty ? "" : " in \(group.joined(separator: "."))"
        let suggestion =
            NameSuggestion.nearest(to: member.name, among: names, limit: 1).first
            ?? suggestedNesting(of: member)
        return ConfigurationError(
            "unknown member \(JSONValue.string(member.name).briefPhrase)\(location)",
            remedy: suggestion.map { "did you mean \($0)?" } ?? "it must be one of \(names.joined(separator: ", "))")
    }

    /// Suggests the JSON for an option that is in a wrong object, or that has its full name from the manual: for the
    /// member `"limits.connections": 9`, `{"limits": {"connections": 9}}`. Returns nil if no option is similar.
    private static func suggestedNesting(of member: JSONObject.Member) -> String? {
        let all = Option.all
        let suggestion =
            all.first { $0.path.last?.hasSameBytes(as: member.name) ?? false }?.name
            ?? NameSuggestion.nearest(to: member.name, among: all.map(\.name), limit: 1).first
        guard let path = all.first(where: { $0.name == suggestion })?.path else { return nil }
        let value = member.value.isShort ? member.value.description : "…"
        return path.reversed().reduce(value) { inner, name in "{\(JSONValue.string(name)): \(inner)}" }
    }

    /// Returns the names that an object may contain. An empty `group` means the top-level object of the file.
    private static func names(in group: [String]) -> [String] {
        var names: [String] = []
        for option in Option.all where option.isInside(group) {
            let name = option.path[group.count]
            if names.last?.hasSameBytes(as: name) != true { names.append(name) }
        }
        return names
    }
}

extension Option {
    /// True if the option belongs in an object, at any depth.
    fileprivate func isInside(_ group: [String]) -> Bool {
        path.count > group.count && Array(path[..<group.count]).isSame(as: group)
    }
}

extension [String] {
    fileprivate func isSame(as other: [String]) -> Bool {
        count == other.count && zip(self, other).allSatisfy { $0.hasSameBytes(as: $1) }
    }
}
