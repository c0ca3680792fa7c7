import SettingsModel

/// Settings that are typical of programs: flags, counts, fractions, words, sentences, lists and small objects.
enum TypicalSettings {
    /// Returns a document with groups of settings. Its compact text has at least `size` bytes, and is the same in each
    /// run.
    static func document(ofAtLeast size: Int) -> JSONValue {
        var groups = JSONObject()
        var written = 0
        var number = 0
        while written < size {
            let group = JSONValue.object(group(number))
            // The name of a group takes at least 16 bytes, with its quotation marks, the colon and the comma.
            written += group.bytes().count + 16
            groups["application\(number)"] = group
            number += 1
        }
        return .object(groups)
    }

    private static func group(_ number: Int) -> JSONObject {
        [
            "enabled": .bool(number % 3 != 0),
            "launchCount": .integer(Int64(number) * 7_919),
            "player.volume": .double(Double(number % 100) / 100),
            "theme": .string(["light", "dark", "system"][number % 3]),
            "displayName": .string("The name that people see for application \(number)"),
            "greeting": .string("Grüße, \"Welt\"\nund noch eine Zeile"),
            "lastSeen": "2026-11-20T10:00:00.123Z",
            "ratio": .double(1 / (Double(number) + 3)),
            "window": ["x": 40, "y": .integer(Int64(number % 900)), "width": 1_280, "height": 800],
            "recentFiles": ["/home/user/documents/report.txt", "/home/user/documents/notes.md"],
            "proxy": .null,
            "retryDelays": [1, 2, 4, 8, 16, 32, 64],
        ]
    }
}
