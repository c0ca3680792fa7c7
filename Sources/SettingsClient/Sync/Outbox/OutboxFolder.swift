internal import Platform
internal import SettingsModel

/// The directory of the files of kept writes of one suite on one server. Each adapter has a file of its own there; that of
/// a program that has gone is taken over by the next that looks.
struct OutboxFolder: Sendable {
    let path: String
    let owner: KeptOwner
    let files: any FileSystem

    static let ending = ".outbox"

    /// Something that a program left behind and that cannot be used as it is.
    struct Trouble: Hashable, Sendable {
        let path: String
        let reason: String
    }

    /// What was found.
    struct Found: Sendable {
        var files: [(file: OutboxFile, writes: [OutboxContents.Write])] = []
        var troubles: [Trouble] = []
        /// Whether there are files that somebody has.
        var hasOthers = false
    }

    /// A new file. Its name sorts behind those that are there.
    func makeFile() throws(FileError) -> OutboxFile {
        try files.makeDirectory(path)
        let last = try files.list(path).compactMap(Self.number).max() ?? 0
        let digits = String(last + 1)
        let number = String(repeating: "0", count: max(0, 10 - digits.utf8.count)) + digits
        let random = String(UInt64.random(in: .min ... .max), radix: 36)
        let file = try OutboxFile("\(path)/\(number)-\(random)\(Self.ending)", of: owner, in: files)
        try files.syncDirectory(path)
        return file
    }

    /// Takes over what nobody has, in the order in which it was begun.
    ///
    /// - Parameter own: the files that the caller has.
    func inherit(except own: Set<String> = []) -> Found {
        var found = Found()
        let names: [String]
        do {
            names = try files.list(path).sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
        } catch {
            // Where nobody may look, nothing can have been kept; if something is to be, that will be told.
            if !error.isOutOfReach { found.troubles.append(Trouble(path: path, reason: error.reason)) }
            return found
        }
        for name in names {
            let path = "\(path)/\(name)"
            if name.hasSuffix(Self.ending), !own.contains(path) {
                do throws(FileError) {
                    try inherit(path, &found)
                } catch {
                    if !error.isMissing { found.troubles.append(Trouble(path: path, reason: error.reason)) }
                }
            } else if name.hasSuffix(Self.ending + OutboxFile.draftEnding) {
                // What was not finished, save by somebody who is at it.
                if let draft = try? OpenFile(path, .writing, in: files), (try? draft.lockIfNamed()) == true {
                    try? files.remove(path)
                }
            }
        }
        return found
    }

    private func inherit(_ path: String, _ found: inout Found) throws(FileError) {
        let held = try OpenFile(path, .writing, in: files)
        guard try held.lockIfNamed() else {
            found.hasOthers = true
            return
        }
        let bytes = try held.readAll()
        let contents: OutboxContents
        do {
            contents = try OutboxContents(bytes)
        } catch {
            let version = if case .future(let version) = error { " (form \(version))" } else { "" }
            found.troubles.append(
                Trouble(path: path, reason: "written by a later version of this program\(version), and left as it is"))
            return
        }
        // Two servers whose names are too long for a directory may share one.
        if let other = contents.owner, other != owner { return }
        var file = OutboxFile(held, contents, of: bytes)
        if contents.end < bytes.count { file.cutEnd() }
        if !file.damage.isEmpty {
            let count = file.damage.count
            let what = count == 1 ? "a line is damaged" : "\(count) lines are damaged"
            do throws(FileError) {
                let aside = try putAside(&file, contents.writes.map { ($0.number, $0.write) })
                found.troubles.append(
                    Trouble(path: path, reason: "\(what), and will not be sent; what is left of it is in \(aside)"))
            } catch {
                found.troubles.append(
                    Trouble(path: path, reason: "\(what), and will not be sent; it stays there, as \(error)"))
            }
        }
        if !file.isDone {
            found.files.append((file, contents.writes))
        } else if file.damage.isEmpty {
            // If it stays, whoever looks next finds that it is done.
            try? files.remove(path)
        }
    }

    /// Copies damaged lines to a file beside, where somebody may look at them, and takes them out of this one; the path of
    /// the copy.
    private func putAside(
        _ file: inout OutboxFile, _ writes: [(number: Int64, write: PendingChange)]
    ) throws(FileError) -> String {
        let aside = try copyDamage(of: file)
        do throws(FileError) {
            file = try written(in: file, writes)
        } catch {
            try? files.remove(aside)
            throw error
        }
        return aside
    }

    private func copyDamage(of file: OutboxFile) throws(FileError) -> String {
        let random = String(UInt64.random(in: .min ... .max), radix: 36)
        let aside = "\(file.path.dropLast(Self.ending.utf8.count))-\(random).damaged"
        let held = try OpenFile(aside, .new, in: files)
        do throws(FileError) {
            let end = UInt8(ascii: "\n")
            let lines = Array(file.damage.joined(separator: [end])) + [end]
            try held.write(lines.span, at: 0)
            try held.syncData()
        } catch {
            try? files.remove(aside)
            throw error
        }
        return aside
    }

    /// A file that takes the place of another, with nothing in it but these writes. Damaged lines that the other has are
    /// put aside; where that cannot be, the other stays.
    func rewritten(
        _ file: OutboxFile, _ writes: [(number: Int64, write: PendingChange)]
    ) throws(FileError) -> OutboxFile {
        guard !file.damage.isEmpty else { return try written(in: file, writes) }
        var file = file
        _ = try putAside(&file, writes)
        return file
    }

    private func written(
        in file: OutboxFile, _ writes: [(number: Int64, write: PendingChange)]
    ) throws(FileError) -> OutboxFile {
        let new = try OutboxFile(file.path, of: owner, writes: writes, lastNumber: file.lastNumber, in: files)
        try? files.syncDirectory(path)
        return new
    }

    /// Removes a file that is done. False if it has to stay, as nobody else has its damaged lines.
    func remove(_ file: OutboxFile) -> Bool {
        if !file.damage.isEmpty, (try? copyDamage(of: file)) == nil { return false }
        // If it stays, whoever takes it over finds that it is done.
        try? files.remove(file.path)
        return true
    }

    private static func number(_ name: String) -> Int64? {
        guard name.hasSuffix(ending) else { return nil }
        return Int64(name.prefix { $0 != "-" }).flatMap { OutboxLine.numbers.contains($0) ? $0 : nil }
    }
}
