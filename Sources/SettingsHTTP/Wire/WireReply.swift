/// An answer as it came over the wire.
package struct WireReply: Hashable, Sendable {
    package struct Field: Hashable, Sendable {
        /// In lower case.
        let name: String
        let value: String

        package init(name: String, value: String) {
            self.name = name.lowercased()
            self.value = value
        }
    }

    /// How many bytes a body may have.
    package static let mostBytes = ReplyLimits().body

    package var status: Int
    package var fields: [Field] = []
    package var body: [UInt8] = []
    /// Whether the connection may carry another request.
    var keepsConnection = true
    /// Whether this answers a write that went out a second time, and may have been done the first time.
    var isToRepeat = false

    package init(status: Int, fields: [Field] = [], body: [UInt8] = []) {
        self.status = status
        self.fields = fields
        self.body = body
    }

    /// The value of the first field of that name, which is given in lower case.
    package func field(_ name: String) -> String? {
        fields.first { $0.name == name }?.value
    }
}

/// How much an answer may be. What exceeds it is refused, so that no server takes all the memory.
struct ReplyLimits: Hashable, Sendable {
    /// Bytes of the head, and again of all that frames a chunked body.
    var head = 65536
    var fields = 256
    /// Bytes of the body; a suite may be large.
    var body = 1 << 30
    /// Answers of 1xx before the real one.
    var interim = 16
}

/// Why what came is no answer.
struct MalformedReply: Error, Hashable, Sendable {
    let reason: String

    init(_ reason: String) {
        self.reason = reason
    }
}
