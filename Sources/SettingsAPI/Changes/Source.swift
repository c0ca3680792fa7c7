public import SettingsModel

/// Where the effective value of a setting comes from.
public enum Source: Hashable, Sendable {
    /// Somebody stored it.
    case stored
    /// The schema's default holds.
    case `default`
    /// There is no value.
    case unset
    /// Something is stored, but it does not fit the schema: there is no value.
    case invalid
    /// A source of a newer server, by its name.
    case unknown(String)

    /// The source of this name; any name is one.
    public init(_ name: String) {
        switch name {
        case "stored": self = .stored
        case "default": self = .default
        case "unset": self = .unset
        case "invalid": self = .invalid
        default: self = .unknown(name)
        }
    }

    /// The name on the wire.
    public var name: String {
        switch self {
        case .stored: "stored"
        case .default: "default"
        case .unset: "unset"
        case .invalid: "invalid"
        case .unknown(let name): name
        }
    }

    /// Whether there is a value to read. A source that nobody knows here is judged as not readable.
    public var isReadable: Bool {
        switch self {
        case .stored, .default: true
        case .unset, .invalid, .unknown: false
        }
    }

    /// Whether something is stored, fitting or not.
    public var isStored: Bool {
        switch self {
        case .stored, .invalid: true
        case .default, .unset, .unknown: false
        }
    }
}

extension Source: CustomStringConvertible {
    /// The name on the wire.
    public var description: String {
        name
    }
}

extension Source: JSONReadable, JSONWritable {
    /// Reads any string.
    public init(json: JSONValue) throws(BodyError) {
        self.init(try BodyValue.string(json))
    }

    /// Writes the name as a string.
    public func write(to writer: inout JSONWriter) {
        writer.write(string: name)
    }
}
