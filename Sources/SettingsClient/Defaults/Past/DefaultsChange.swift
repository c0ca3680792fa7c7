public import Foundation
internal import SettingsAPI
internal import SettingsKeys
internal import SettingsModel

/// A place in the past of a suite.
public enum DefaultsMoment: Hashable, Sendable {
    /// After the commit of this revision, as ``DefaultsChange/revision`` names it.
    case revision(Int64)
    /// After the last commit that was not later than this. An instant to come is now.
    case instant(Date)

    /// The instant that is so long ago by the clock of this machine.
    public static func ago(_ duration: Duration) -> DefaultsMoment {
        .instant(Date(timeIntervalSinceNow: -(duration / .seconds(1))))
    }

    /// The place as the server knows it.
    var place: Moment {
        get throws(DefaultsError) {
            switch self {
            case .revision(let number):
                return .revision(try Revision(checking: number))
            case .instant(let date):
                // Wider than what a timestamp can say, and within what an integer can.
                let milliseconds = min(max(date.timeIntervalSince1970 * 1000, -1e17), 1e17)
                return .instant(Timestamp(milliseconds: Int64(exactly: milliseconds.rounded(.down)) ?? 0))
            }
        }
    }
}

extension Revision {
    /// Throws for a negative number.
    init(checking number: Int64) throws(DefaultsError) {
        guard let revision = Revision(number) else {
            throw .refused(Refusal(.badRequest, "\(number) is no revision: revisions begin at 0"))
        }
        self = revision
    }
}

/// A change of a setting in the past, with who made it and why.
public struct DefaultsChange<Value: Sendable>: Sendable {
    /// The name of the key; of a renamed key, the name that it had.
    public let key: String
    /// The value before; nil if there was none, if it is none of the key's type, or if it is a secret that this program may
    /// not read.
    public let oldValue: Value?
    /// The value after; nil likewise.
    public let newValue: Value?
    /// The commit that made it; between two places in the past, the last of several.
    public let revision: Int64
    /// The time of that commit.
    public let time: Date
    /// The name of the caller that made it; nil if it is not known.
    public let by: String?
    /// The reason that the caller gave; nil if it gave none.
    public let note: String?
}

extension DefaultsChange: Equatable where Value: Equatable {}

extension DefaultsChange {
    /// - Parameter read: returns a value and its source as the type of the change has it.
    init(_ change: Change, _ read: (JSONValue?, Source) -> Value?) {
        key = change.key.text
        oldValue = change.isConcealed ? nil : read(change.old, change.oldSource)
        newValue = change.isConcealed ? nil : read(change.new, change.source)
        revision = change.revision.number
        time = Date(timeIntervalSince1970: Double(change.modified.milliseconds) / 1000)
        (by, note) = (change.by, change.note)
    }
}

extension DefaultsChange where Value == JSONValue {
    init(_ change: Change) {
        self.init(change) { value, _ in value }
    }
}
