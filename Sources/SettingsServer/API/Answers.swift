internal import HTTPWire
internal import SettingsModel

/// The forms that answers have.
extension Response {
    /// An answer with a body of JSON.
    init(json body: [UInt8], status: Int = 200, cursor: Cursor, tag: Revision? = nil) {
        self.init(status: status, contentType: .json, fields: FieldBlock(cursor: cursor, tag: tag), body: body)
    }

    /// An error.
    init(_ problem: Problem, cursor: Cursor, tag: Revision? = nil) {
        var fields = FieldBlock(cursor: cursor, tag: tag)
        if !problem.allow.isEmpty { fields.append("Allow", text: problem.allow.joined(separator: ", ")) }
        if let seconds = problem.retryAfterSeconds { fields.append("Retry-After", integer: Int(seconds)) }
        self.init(status: problem.status, contentType: .problem, fields: fields, body: problem.jsonBytes())
    }

    /// An answer to an observer. Another `Accept` would have asked for a stream.
    init(toObserver body: [UInt8], cursor: Cursor) {
        self.init(json: body, cursor: cursor)
        fields.append("Vary", "Accept")
    }

    /// An error told to an observer.
    init(toObserver problem: Problem, cursor: Cursor) {
        self.init(problem, cursor: cursor)
        fields.append("Vary", "Accept")
    }

    /// That the caller has what there is.
    init(notModified tag: Revision, cursor: Cursor) {
        self.init(status: 304, contentType: .none, fields: FieldBlock(cursor: cursor, tag: tag), body: [])
    }

    /// The answer to a write.
    init(_ answer: WriteAnswer, to write: OwedWrite) {
        let status = answer.created ? write.createdStatus : 200
        switch answer.body {
        case .setting(let setting):
            let body = write.isMinimal ? setting.withoutValues().jsonBytes() : setting.jsonBytes()
            self.init(json: body, status: status, cursor: answer.cursor, tag: setting.revision)
            fields.append(source: setting.source)
        case .summary(let summary):
            let body = write.isMinimal ? summary.withoutChanges().jsonBytes() : summary.jsonBytes()
            self.init(json: body, status: status, cursor: answer.cursor, tag: answer.tag)
        }
        if write.isMinimal { fields.append("Preference-Applied", "return=minimal") }
    }
}

extension FieldBlock {
    /// The fields that every answer has: the place in history, and that nobody may keep the answer or guess at its type.
    init(cursor: Cursor, tag: Revision?) {
        self.init(reservingCapacity: 224)
        append("Cache-Control", "no-cache")
        append("X-Content-Type-Options", "nosniff")
        append("Settings-Cursor", "\(cursor.epoch.text).", integer: Int(cursor.revision.number))
        if let tag { append(tag: tag) }
    }

    /// The tag of what the answer shows.
    mutating func append(tag: Revision) {
        append("ETag", "\"", integer: Int(tag.number), "\"")
    }

    /// Where the value comes from.
    mutating func append(source: Source) {
        append("Settings-Source", text: source.name)
    }
}
