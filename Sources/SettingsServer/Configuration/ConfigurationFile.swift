internal import HTTPServer
internal import HTTPWire
internal import Platform
internal import SettingsCluster
internal import SettingsEngine
package import SettingsModel
internal import SettingsStorage
package import SettingsWeb

/// Reading is strict: an option that is misspelt must not pass for one that was left out.
extension Configuration {
    /// No configuration is longer than this, in bytes.
    private static let longest = 1 << 20

    /// Takes over what a file says. What the file does not name stays as it is.
    package mutating func apply(fileAt path: String) throws(ConfigurationError) {
        do throws(ConfigurationError) {
            try apply(try Self.document(at: path), from: "file \(path)")
        } catch {
            throw ConfigurationError("\(path): \(error.problem)", remedy: error.remedy)
        }
    }

    /// Returns every option with its value.
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
                "the configuration is \(document.briefPhrase)", remedy: "it must be one object, as {\"log\":\"info\"}")
        }
        for member in object { try apply(member, in: [], from: source) }
    }

    private mutating func apply(
        _ member: JSONObject.Member, in group: [String], from source: String
    ) throws(ConfigurationError) {
        let path = group + [member.name]
        if let option = Option.all.first(where: { $0.path.isSame(as: path) }) {
            return try option.take(member.value, called: option.name, from: source, into: &self)
        }
        guard group.isEmpty, Option.all.contains(where: { $0.isIn(path) }) else {
            throw Self.unknown(member, in: group)
        }
        guard let members = member.value.object else {
            throw ConfigurationError(
                "\(member.name) is \(member.value.briefPhrase)",
                remedy: "it must be an object with some of \(Self.names(in: path).joined(separator: ", "))")
        }
        // An empty object has no option whose value could turn access control on.
        if path.isSame(as: ["access"]) { access.isPresent = true }
        for member in members { try apply(member, in: path, from: source) }
    }

    /// Throws if options that are right by themselves contradict each other.
    package func checkTogether() throws(ConfigurationError) {
        let limits = transport.request
        func named(_ option: String, _ value: Int) -> String { "\(option) (\(value), \(source(of: option)))" }
        guard limits.maximumTargetLength < limits.maximumHeadLength else {
            throw ConfigurationError(
                named("limits.targetBytes", limits.maximumTargetLength) + " does not fit into "
                    + named("limits.headBytes", limits.maximumHeadLength), remedy: "lower the one or raise the other")
        }
        guard etcd.endpoints.isEmpty || history.age == .max else {
            throw ConfigurationError(
                "history.days (\(source(of: "history.days"))) is for a daemon without etcd.endpoints",
                remedy: "leave one of them out")
        }
        guard etcd.endpoints.isEmpty || durability == .always else {
            throw ConfigurationError(
                "durability (\(source(of: "durability"))) is for a daemon without etcd.endpoints: what etcd has is on disk",
                remedy: "leave one of them out")
        }
        // A request waits with a little more than its body.
        let least = limits.maximumBodyLength + WriteRequest.overhead
        guard writes.waitingBytes >= least else {
            throw ConfigurationError(
                named("limits.queuedWriteBytes", writes.waitingBytes) + " has no room for a body of "
                    + named("limits.bodyBytes", limits.maximumBodyLength),
                remedy: "raise it to \(least) or more, or lower limits.bodyBytes")
        }
    }

    private static func document(at path: String) throws(ConfigurationError) -> JSONValue {
        let bytes = try contents(of: path, most: longest)
        do {
            return try JSONValue(parsing: bytes)
        } catch {
            throw ConfigurationError(error.description, remedy: "correct the JSON there")
        }
    }

    /// Reads a file that may be a link, as where configurations are mounted.
    static func contents(of path: String, most: Int) throws(ConfigurationError) -> [UInt8] {
        let bytes: [UInt8]
        do throws(SystemError) {
            bytes = try FileContents.read(path, upTo: most + 1, waitsForWriter: false)
        } catch {
            throw ConfigurationError("cannot be read: \(error)", remedy: "name a file that can be read")
        }
        guard bytes.count <= most else {
            throw ConfigurationError("the file is longer than \(most) bytes", remedy: "name another, or shorten it")
        }
        return bytes
    }

    private static func unknown(_ member: JSONObject.Member, in group: [String]) -> ConfigurationError {
        let names = names(in: group)
        let place = group.isEmpty ? "" : " in \(group.joined(separator: "."))"
        let suggestion = NameSuggestion.nearest(to: member.name, among: names, limit: 1).first ?? nested(member)
        return ConfigurationError(
            "unknown member \(JSONValue.string(member.name).briefPhrase)\(place)",
            remedy: suggestion.map { "did you mean \($0)?" } ?? "it may be one of \(names.joined(separator: ", "))")
    }

    /// Suggests how to write an option that lies in another object. Messages and the manual spell it with a dot, and a
    /// file nests it.
    private static func nested(_ member: JSONObject.Member) -> String? {
        let all = Option.all
        let meant =
            all.first { $0.path.last?.hasSameBytes(as: member.name) ?? false }?.name
            ?? NameSuggestion.nearest(to: member.name, among: all.map(\.name), limit: 1).first
        guard let path = all.first(where: { $0.name == meant })?.path else { return nil }
        let value = member.value.isShort ? member.value.description : "…"
        return path.reversed().reduce(value) { inner, name in "{\(JSONValue.string(name)): \(inner)}" }
    }

    /// Returns the names that may stand in an object of a file, or at its top.
    private static func names(in group: [String]) -> [String] {
        var names: [String] = []
        for option in Option.all where option.isIn(group) {
            let name = option.path[group.count]
            if names.last?.hasSameBytes(as: name) != true { names.append(name) }
        }
        return names
    }
}

extension Option {
    /// True if the option lies in an object, at any depth.
    fileprivate func isIn(_ group: [String]) -> Bool {
        path.count > group.count && Array(path[..<group.count]).isSame(as: group)
    }
}

extension [String] {
    fileprivate func isSame(as other: [String]) -> Bool {
        count == other.count && zip(self, other).allSatisfy { $0.hasSameBytes(as: $1) }
    }
}
