internal import HTTPWire
package import SettingsModel

/// A configuration as JSON, as it stands in a file. Reading is strict: an option that is misspelt must not be taken for
/// one that was left out.
extension Configuration {
    /// Takes in what a document says; what it does not name stays as it is.
    package mutating func apply(_ document: JSONValue) throws(ConfigurationError) {
        guard let object = document.object else {
            throw ConfigurationError(
                "the configuration is \(document.briefPhrase)", remedy: "it must be one object, as {\"log\":\"info\"}")
        }
        for member in object {
            try apply(member, in: [])
        }
        try checkTogether()
    }

    /// Every option with its value.
    package var document: JSONValue {
        var document = JSONObject()
        for member in ConfigurationMember.all {
            switch (member.path.first, member.path.last) {
            case (let group?, let name?) where member.path.count > 1:
                var members = document[group]?.object ?? JSONObject()
                members[name] = member.write(self)
                document[group] = .object(members)
            case (_, let name?): document[name] = member.write(self)
            default: continue
            }
        }
        return .object(document)
    }

    private mutating func apply(_ member: JSONObject.Member, in group: [String]) throws(ConfigurationError) {
        let path = group + [member.name]
        if let known = ConfigurationMember.all.first(where: { $0.path.isSame(as: path) }) {
            return try known.read(member.value, &self)
        }
        guard group.isEmpty, ConfigurationMember.all.contains(where: { $0.isIn(path) }) else {
            throw Self.unknown(member, in: group)
        }
        guard let members = member.value.object else {
            throw ConfigurationError(
                "\(member.name) is \(member.value.briefPhrase)",
                remedy: "it must be an object with some of \(Self.names(in: path).joined(separator: ", "))")
        }
        for member in members { try apply(member, in: path) }
    }

    /// What single options cannot tell.
    private func checkTogether() throws(ConfigurationError) {
        let limits = transport.request
        guard limits.maximumTargetLength < limits.maximumHeadLength else {
            throw ConfigurationError(
                "limits.targetBytes (\(limits.maximumTargetLength)) does not fit into limits.headBytes"
                    + " (\(limits.maximumHeadLength))", remedy: "lower the one or raise the other")
        }
        // A request waits with a little more than its body.
        let least = limits.maximumBodyLength + WriteRequest.overhead
        guard writes.waitingBytes >= least else {
            throw ConfigurationError(
                "limits.waitingWriteBytes (\(writes.waitingBytes)) has no room for a body of limits.bodyBytes"
                    + " (\(limits.maximumBodyLength))",
                remedy: "raise it to \(least) or more, or lower limits.bodyBytes")
        }
    }

    private static func unknown(_ member: JSONObject.Member, in group: [String]) -> ConfigurationError {
        let names = names(in: group)
        let place = group.isEmpty ? "" : " in \(group.joined(separator: "."))"
        let suggestion =
            NameSuggestion.nearest(to: member.name, among: names, limit: 1).first ?? elsewhere(member)
        return ConfigurationError(
            "unknown member \(JSONValue.string(member.name).briefPhrase)\(place)",
            remedy: suggestion.map { "did you mean \($0)?" } ?? "it may be one of \(names.joined(separator: ", "))")
    }

    /// How a member is written that has its place in another group, as a file has it: groups are objects, and a name
    /// with dots, as messages and the manual have it, is none of a member.
    private static func elsewhere(_ member: JSONObject.Member) -> String? {
        let all = ConfigurationMember.all
        let meant =
            all.first { $0.path.last?.hasSameBytes(as: member.name) ?? false }?.name
            ?? NameSuggestion.nearest(to: member.name, among: all.map(\.name), limit: 1).first
        guard let path = all.first(where: { $0.name == meant })?.path else { return nil }
        let value = member.value.isShort ? member.value.description : "…"
        return path.reversed().reduce(value) { inner, name in "{\(JSONValue.string(name)): \(inner)}" }
    }

    /// The names that may stand in a group, or at the top.
    private static func names(in group: [String]) -> [String] {
        var names: [String] = []
        for member in ConfigurationMember.all where member.isIn(group) {
            let name = member.path[group.count]
            if names.last?.hasSameBytes(as: name) != true { names.append(name) }
        }
        return names
    }
}

extension ConfigurationMember {
    /// Whether the member lies in a group, at any depth.
    fileprivate func isIn(_ group: [String]) -> Bool {
        path.count > group.count && Array(path[..<group.count]).isSame(as: group)
    }
}

extension [String] {
    fileprivate func isSame(as other: [String]) -> Bool {
        count == other.count && zip(self, other).allSatisfy { $0.hasSameBytes(as: $1) }
    }
}
