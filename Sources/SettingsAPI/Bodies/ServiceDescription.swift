public import SettingsModel

/// What a daemon says of itself.
public struct ServiceDescription: Hashable, Sendable {
    /// A resource by the name of its relation.
    public struct Link: Hashable, Sendable {
        /// What the resource is, as `suites`.
        public var name: String
        /// Its path, or a template of it.
        public var target: String

        /// A link.
        public init(name: String, target: String) {
            self.name = name
            self.target = target
        }
    }

    /// The name of the program.
    public var name: String
    /// Its version.
    public var version: String
    /// The place in history.
    public var cursor: Cursor
    /// Where everything is.
    public var links: [Link]

    /// A description.
    public init(name: String, version: String, cursor: Cursor, links: [Link]) {
        self.name = name
        self.version = version
        self.cursor = cursor
        self.links = links
    }
}

extension ServiceDescription: JSONReadable, JSONWritable {
    /// Reads an answer; ignores members it does not know.
    public init(json: JSONValue) throws(BodyError) {
        let reader = try ObjectReader(json)
        self.init(
            name: try reader.required("name"), version: try reader.required("version"),
            cursor: try reader.required("cursor"),
            links: try reader.optional("links") { json throws(BodyError) in
                try BodyValue.map(json) { member throws(BodyError) in
                    Link(name: member.name, target: try BodyValue.string(member.value))
                }
            } ?? [])
    }

    /// Writes the description, the links as a map.
    public func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("name", name)
        writer.member("version", version)
        writer.member("revision", cursor.revision)
        writer.member("cursor", cursor)
        writer.name("links")
        writer.beginObject()
        for link in links { writer.member(link.name, link.target) }
        writer.endObject()
        writer.endObject()
    }
}
