package import SettingsModel

/// The name under which a client reports which state of a suite it has applied.
package struct ClientName: Hashable, Sendable, JSONText {
    package static let expectedText = "1 to 128 bytes without control characters"
    package static let maximumLength = 128

    package let text: String

    /// Makes a name. Returns nil if the text is not valid.
    package init?(_ text: String) {
        guard (1...Self.maximumLength).contains(text.utf8.count), !text.unicodeScalars.contains(where: Self.isControl)
        else { return nil }
        self.text = text
    }

    /// Makes a name from any text: replaces control characters with hyphens, and removes the end of a text that is too
    /// long. Returns nil for an empty text.
    package init?(anyText text: String) {
        var scalars = String.UnicodeScalarView()
        for scalar in text.unicodeScalars {
            scalars.append(scalar.properties.generalCategory == .control ? "-" : scalar)
        }
        self.init(String(scalars).prefix(maximumBytes: Self.maximumLength))
    }

    private static func isControl(_ scalar: Unicode.Scalar) -> Bool {
        scalar.value < 0x20 || (0x7F...0x9F).contains(scalar.value)
    }

    package var description: String { text }

    package static func == (left: ClientName, right: ClientName) -> Bool { left.text.hasSameBytes(as: right.text) }

    package func hash(into hasher: inout Hasher) { UTF8Text(text).hash(into: &hasher) }
}

/// A report of a client about a suite: the state that the client has applied, and the state that it could not apply.
package struct ClientReport: Equatable, Sendable {
    package static let maximumReasonLength = 1024

    /// The newest state that the client has applied. Nil to omit it: the daemon then keeps the state of the former
    /// report.
    package var applied: Cursor?
    /// The state that the client could not apply. Nil to omit it: the daemon then keeps a former failure until the
    /// client reports the failed state or a later state as applied.
    package var failed: Cursor?
    /// The reason for the failure. The daemon refuses a reason with more than ``maximumReasonLength`` bytes, or without
    /// `failed`.
    package var reason: String?

    /// Makes a report. Removes the end of a reason that is too long.
    package init(applied: Cursor? = nil, failed: Cursor? = nil, shortening reason: String) {
        self.init(applied: applied, failed: failed, reason: reason.prefix(maximumBytes: Self.maximumReasonLength))
    }

    package init(applied: Cursor? = nil, failed: Cursor? = nil, reason: String? = nil) {
        (self.applied, self.failed, self.reason) = (applied, failed, reason)
    }
}

/// The body of `PUT /v1/suites/{suite}/clients/{name}`.
extension ClientReport: JSONReadable, JSONWritable {
    package init(json: JSONValue) throws(BodyError) {
        let reader = try ObjectReader(json, only: ["applied", "failed", "reason"])
        self.init(
            applied: try reader.optional("applied"), failed: try reader.optional("failed"),
            reason: try reader.optional("reason"))
    }

    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("applied", applied)
        writer.member("failed", failed)
        writer.member("reason", reason)
        writer.endObject()
    }
}
