public import Foundation
internal import SettingsAPI
internal import SettingsKeys
internal import SettingsModel

/// A point in the history of a suite.
public enum DefaultsMoment: Hashable, Sendable {
    /// The state after the commit with this revision, for example the ``DefaultsChange/revision`` of a change.
    case revision(Int64)
    /// The state at this time. A time in the future means the present state.
    case instant(Date)

    /// The time that is this duration before now, by the clock of this machine.
    public static func ago(_ duration: Duration) -> DefaultsMoment {
        .instant(Date(timeIntervalSinceNow: -(duration / .seconds(1))))
    }

    /// The moment in the form that requests use.
    var requestMoment: Moment {
        get throws(DefaultsError) {
            switch self {
            case .revision(let number):
                return .revision(try Revision(checking: number))
            case .instant(let date): return .instant(Timestamp(date))
            }
        }
    }
}

extension Timestamp {
    init(_ date: Date) {
        // The limits are beyond every valid timestamp, and fit into an Int64.
        let milliseconds = min(max(date.timeIntervalSince1970 * 1000, -1e17), 1e17)
        self.init(milliseconds: Int64(exactly: milliseconds.rounded(.down)) ?? 0)
    }

    var date: Date { Date(timeIntervalSince1970: Double(milliseconds) / 1000) }
}

extension Revision {
    init(checking number: Int64) throws(DefaultsError) {
        guard let revision = Revision(number) else {
            throw .refused(Refusal(.badRequest, "the revision must be at least 0 (got \(number))"))
        }
        self = revision
    }
}

/// A change of a setting in the history of a suite, with the caller that made it and the reason.
public struct DefaultsChange<Value: Sendable>: Sendable {
    /// The name of the key. For a renamed key, the name at the time of the change.
    public let key: String
    /// The effective value before the change. Nil if the value is not a valid value of the key, or if it is a secret
    /// that this program may not read. If there was no value, the property has the default of the key, or nil if
    /// `Value` is `JSONValue`.
    public let oldValue: Value?
    /// The effective value after the change. Nil for the same reasons as ``oldValue``.
    public let newValue: Value?
    /// The revision of the commit that made the change. For a difference between two moments, the revision of the last
    /// commit that changed the key between the moments.
    public let revision: Int64
    /// The time of the commit.
    public let time: Date
    /// The name of the caller that made the change, for example `user:ann`. Nil if the caller is not known.
    public let by: String?
    /// The reason that the caller gave. Nil if the caller gave no reason.
    public let note: String?
}

extension DefaultsChange: Equatable where Value: Equatable {}

extension DefaultsChange {
    /// - Parameter read: converts JSON and its source into a value of the change.
    init(_ change: Change, _ read: (JSONValue?, Source) -> Value?) {
        key = change.key.text
        oldValue = change.isConcealed ? nil : read(change.old, change.oldSource)
        newValue = change.isConcealed ? nil : read(change.new, change.source)
        revision = change.revision.number
        time = change.modified.date
        (by, note) = (change.by, change.note)
    }
}

extension DefaultsChange where Value == JSONValue {
    init(_ change: Change) {
        self.init(change) { value, _ in value }
    }
}
