package import SettingsAPI
internal import SettingsModel

/// How a journal begins: what its commits follow, and how far they can be trusted.
package struct JournalHead: Hashable, Sendable {
    /// The format that this daemon writes.
    package static let currentFormat: Int64 = 1

    /// The history that the commits belong to.
    package var epoch: Epoch
    /// The revision that the first commit here follows. The file is named by it.
    package var revision: Revision
    /// The last commit of older journals that counts; whatever they have beyond it never was published. It is
    /// ``revision``, or an earlier one where an epoch begins with the file.
    package var after: Revision
    /// What was promised of writes when the journal was begun.
    package var durability: Configuration.Durability
    /// The name of the directory that the file was written in; nil if an older version wrote it, or a repair.
    package var directory: String?

    package init(
        epoch: Epoch, revision: Revision, after: Revision, durability: Configuration.Durability,
        directory: String? = nil
    ) {
        self.epoch = epoch
        self.revision = revision
        self.after = after
        self.durability = durability
        self.directory = directory
    }

    /// Whether a new epoch begins with the file.
    package var beginsEpoch: Bool { revision != after }

    /// Whether a crash may have taken what was acknowledged.
    package var mayLose: Bool { durability != .always }
}

extension JournalHead {
    func writeMembers(to json: inout JSONWriter) {
        json.name("journal")
        json.write(integer: Self.currentFormat)
        json.name("epoch")
        json.write(string: epoch.text)
        json.name("revision")
        revision.write(to: &json)
        json.name("after")
        after.write(to: &json)
        json.name("durability")
        json.write(string: durability.rawValue)
        if let directory {
            json.name("directory")
            json.write(string: directory)
        }
    }

    /// Reads the head; nil if it has no form that is known here.
    init?(_ json: JSONValue) {
        guard let epoch = json["epoch"]?.string.flatMap({ Epoch($0) }),
            let revision = json["revision"]?.integer.flatMap({ Revision($0) }),
            let after = json["after"]?.integer.flatMap({ Revision($0) }), after <= revision,
            let durability = json["durability"]?.string.flatMap({ Configuration.Durability(rawValue: $0) })
        else { return nil }
        self.init(
            epoch: epoch, revision: revision, after: after, durability: durability,
            directory: json["directory"]?.string)
    }
}
