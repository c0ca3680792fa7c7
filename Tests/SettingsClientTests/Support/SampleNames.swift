import SettingsClient

/// Names that tests use.
struct SampleNames {
    let app: SuiteName
    let net: SuiteName
    let theme: KeyName
    let count: KeyName
    let strange: KeyName

    init() throws {
        app = try SuiteName("app")
        net = try SuiteName("net")
        theme = try KeyName("theme")
        count = try KeyName("launchCount")
        strange = try KeyName("player/Lautstärke %2F?")
    }

    static let schema: JSONValue = [
        "type": "object", "additionalProperties": false,
        "properties": [
            "theme": ["enum": ["light", "dark"], "default": "light"],
            "launchCount": ["type": "integer", "minimum": 0],
            "locked": ["type": "boolean", "readOnly": true],
        ],
    ]
}
