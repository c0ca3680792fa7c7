internal import SettingsModel

/// Reading one journal.
struct JournalReplay {
    /// What was found behind the last line that counts.
    enum Tail: Equatable {
        case none
        /// Room that was made for lines to come, from this place on.
        case room(at: Int)
        /// The file ends in the middle of a line, from this place on, perhaps with zeros behind it: what was being written
        /// when the power went was never acknowledged.
        case torn(at: Int)
    }

    let directory: DataDirectory
    let name: String
    /// The last revision that counts: what comes behind it was never published. Nil for the newest journal.
    let last: Revision?

    /// How the journal begins; nil if it is empty or was torn before its head was complete.
    func head() throws(RecoveryError) -> JournalHead? {
        var head: JournalHead?
        _ = try read { line, _ in
            if case .head(let found) = line { head = found }
            return false
        }
        return head
    }

    /// Goes through the lines until the closure returns false, and says what is behind the last complete one.
    func read(_ body: (JournalLine, _ size: Int) throws(CommitMismatch) -> Bool) throws(RecoveryError) -> Tail {
        let result: Result<Tail, RecoveryError>
        do throws(FileError) {
            result = try lines(body)
        } catch {
            throw RecoveryError(error)
        }
        return try result.get()
    }

    private func lines(
        _ body: (JournalLine, _ size: Int) throws(CommitMismatch) -> Bool
    ) throws(FileError) -> Result<Tail, RecoveryError> {
        let file = try OpenFile(directory.path(of: name), .reading, in: directory.fileSystem)
        var reader = LineReader(file)
        var number = 0
        while true {
            let offset = reader.offset
            number += 1
            let read = try reader.next { line throws(JournalLineError) in (try JournalLine(line), line.count + 1) }
            switch read {
            case nil: return .success(Self.tail(reader.rest, at: offset))
            case .failure(let error)?:
                // The pages of a batch reach the disk in any order: a gap in the last one is a torn tail, too.
                if error.hasGap, last == nil, try !isFollowedBySync(&reader) { return .success(.torn(at: offset)) }
                return .failure(damage(error, line: number, at: offset))
            case .success(let (line, size))?:
                do throws(CommitMismatch) {
                    guard try body(line, size) else { return .success(.none) }
                } catch {
                    return .failure(
                        damage(JournalLineError(error.description), line: number, at: offset))
                }
            }
        }
    }

    /// Whether a line comes that was written after everything before it was on disk.
    private func isFollowedBySync(_ reader: inout LineReader) throws(FileError) -> Bool {
        while true {
            let read = try reader.next { line throws(JournalLineError) in try JournalLine(line) }
            switch read {
            case nil: return false
            case .success(.commit(_, _, followsSync: false))?, .failure?: continue
            case .success?: return true
            }
        }
    }

    private static func tail(_ rest: ArraySlice<UInt8>, at offset: Int) -> Tail {
        if rest.isEmpty { return .none }
        return rest.allSatisfy { $0 == 0 } ? .room(at: offset) : .torn(at: offset)
    }

    private func damage(_ error: JournalLineError, line: Int, at offset: Int) -> RecoveryError {
        let place = "\(directory.path(of: name)), line \(line), at byte \(offset)"
        if error.isFromTheFuture {
            return RecoveryError(.fromTheFuture, "\(place): \(error); run that version, or use another directory")
        }
        return RecoveryError(
            .damaged,
            "\(place): \(error); look with 'settingsd check \(directory.path)', restore a copy, or have "
                + "'settingsd repair \(directory.path)' cut what cannot be read")
    }
}
