internal import Platform
internal import SettingsAPI
internal import SettingsModel

/// What one journal holds, read by itself and as far as it goes.
struct JournalSurvey {
    /// What is the matter with it.
    enum Trouble {
        /// It ends in the middle of a commit that was never acknowledged.
        case torn(at: Int)
        case damaged(RecoveryError)
    }

    let name: String
    let size: Int
    var head: JournalHead?
    /// How many commits there are before the trouble, and the last of them.
    var commits = 0
    var last = Revision.zero
    /// Whether the stop was a clean one.
    var isClosed = false
    var trouble: Trouble?

    /// Reads a journal.
    ///
    /// - Parameter next: the journal that comes after it: what this one has beyond its beginning is of no account.
    init(_ name: String, before next: JournalHead?, isNewest: Bool, in directory: DataDirectory) throws(RecoveryError) {
        self.name = name
        size = try directory.size(of: name)
        let reader = JournalReader(directory: directory, name: name, isNewest: isNewest)
        do throws(RecoveryError) {
            let head = try reader.head()
            self.head = head
            last = head.revision
            if let torn = try read(reader, head, upTo: next?.after) { trouble = .torn(at: torn.offset) }
        } catch {
            guard error.kind != .inaccessible else { throw error }
            trouble = .damaged(error)
        }
    }

    private mutating func read(
        _ reader: JournalReader, _ head: JournalHead, upTo bound: Revision?
    ) throws(RecoveryError) -> TornTail? {
        if let bound, last >= bound { return nil }
        var (reached, commits, isClosed) = (last, 0, false)
        defer { (last, self.commits, self.isClosed) = (reached, commits, isClosed) }
        return try reader.read { found throws(RecoveryError) in
            isClosed = false
            guard found.entry.after == reached || head.durability == .snapshot else {
                throw reader.damage("the line follows revision \(found.entry.after), not \(reached)", at: found)
            }
            guard case .commit(let json, let revision) = found.entry.content else {
                reached = found.entry.after
                isClosed = true
                return true
            }
            do throws(BodyError) {
                _ = try Commit(json: json)
            } catch {
                throw reader.damage("the commit is not understood: \(error)", at: found)
            }
            guard revision > reached else {
                throw reader.damage("commit \(revision) has no place after \(reached)", at: found)
            }
            reached = revision
            commits += 1
            return bound.map { reached < $0 } ?? true
        }
    }
}

extension DataDirectory {
    /// The journals with what they hold, oldest first.
    func surveyJournals(among names: [String]) throws(RecoveryError) -> [JournalSurvey] {
        var surveys: [JournalSurvey] = []
        var next: JournalHead?
        for (position, file) in journals(among: names).reversed().enumerated() {
            let survey = try JournalSurvey(file.name, before: next, isNewest: position == 0, in: self)
            next = survey.head
            surveys.append(survey)
        }
        return surveys.reversed()
    }

    func size(of name: String) throws(RecoveryError) -> Int {
        do {
            return try fileSystem.status(path(of: name)).size
        } catch {
            throw RecoveryError(error)
        }
    }

    /// All names, or why they cannot be had.
    func names() throws(RecoveryError) -> [String] {
        do {
            return try fileSystem.list(path).sorted()
        } catch {
            throw RecoveryError(error)
        }
    }
}
