package import SettingsModel

/// Names of suites and keys for tests.
package struct SampleNames {
    package let app: SuiteName
    /// A suite that does not affect `app`.
    package let otherSuite: SuiteName
    package let theme: KeyName
    package let launchCount: KeyName
    /// A key with characters that a client has to escape in a path.
    package let keyToEscape: KeyName

    package init() throws {
        app = try SuiteName("app")
        otherSuite = try SuiteName("net")
        theme = try KeyName("theme")
        launchCount = try KeyName("launchCount")
        keyToEscape = try KeyName("player/Lautstärke %2F?")
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
