package import SettingsModel

/// Names of suites and keys for tests.
package struct SampleNames {
    package let app: SuiteName
    /// A suite that does not affect `app`.
    package let net: SuiteName
    package let theme: KeyName
    /// The key `launchCount`.
    package let count: KeyName
    /// A key with characters that a client has to escape in a path.
    package let strange: KeyName

    package init() throws {
        app = try SuiteName("app")
        net = try SuiteName("net")
        theme = try KeyName("theme")
        count = try KeyName("launchCount")
        strange = try KeyName("player/Lautstärke %2F?")
    }

    /// A schema with an enumeration, a number that must not be negative, and a locked key.
    package static let schema: JSONValue = [
        "type": "object", "additionalProperties": false,
        "properties": [
            "theme": ["enum": ["light", "dark"], "default": "light"],
            "launchCount": ["type": "integer", "minimum": 0],
            "locked": ["type": "boolean", "readOnly": true],
        ],
    ]
}
