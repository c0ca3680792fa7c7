internal import Platform
internal import SettingsModel

/// The writes that wait, in memory and on disk. It starts no threads and sends nothing.
struct OutboxStore: Sendable {
    /// How much may wait; beyond that, writes are refused as without an outbox.
    struct Limits: Hashable, Sendable {
        var writes = 100_000
        /// Bytes of their lines.
        var size = 64 << 20
    }

    /// Why a write cannot be kept.
    struct Refusal: Error, Hashable, CustomStringConvertible {
        let description: String
    }

    private let folder: OutboxFolder
    private let limits: Limits
    private var queue = OutboxQueue()
    private var files: [Int: OutboxFile] = [:]
    /// The file that the next write goes to, if there is one.
    private var current: Int?
    private var lastFile = 0

    init(_ folder: OutboxFolder, limits: Limits = Limits()) {
        self.folder = folder
        self.limits = limits
    }

    /// What is sent next.
    var first: KeptWrite? { queue.first }
    var count: Int { queue.count }
    var isEmpty: Bool { queue.isEmpty }

    /// What was found of others.
    struct Inheritance: Hashable, Sendable {
        /// What waits from here on, in order, behind what waited before.
        var writes: [PendingChange] = []
        var troubles: [OutboxFolder.Trouble] = []
        /// Whether there are files that somebody else has.
        var hasOthers = false
    }

    /// Takes over what programs left behind that have gone.
    mutating func inherit() -> Inheritance {
        let found = folder.inherit(except: Set(files.values.map(\.path)))
        var inheritance = Inheritance(troubles: found.troubles, hasOthers: found.hasOthers)
        for (file, writes) in found.files {
            lastFile += 1
            files[lastFile] = file
            if comesLast(file) { current = lastFile }
            for write in writes {
                queue.append(
                    KeptWrite(
                        file: lastFile, number: write.number, original: write.write, form: write.write,
                        size: write.size))
                inheritance.writes.append(write.write)
            }
        }
        return inheritance
    }

    /// Whether nothing that waits is in a file with a later name: whoever inherits all of them goes by that.
    private func comesLast(_ file: OutboxFile) -> Bool {
        files.values.allSatisfy { !file.path.utf8.lexicographicallyPrecedes($0.path.utf8) }
    }

    /// Keeps a write behind all others, on disk when this returns.
    ///
    /// - Parameter form: what is to be sent for it.
    mutating func keep(_ original: PendingChange, as form: PendingChange) throws(Refusal) {
        guard queue.count < limits.writes, queue.size < limits.size else {
            throw Refusal(
                description: "\(queue.count) writes of \(queue.size) bytes wait already, which is as much as may")
        }
        do throws(FileError) {
            let (id, number, size) = try add(form)
            queue.append(KeptWrite(file: id, number: number, original: original, form: form, size: size))
        } catch {
            throw Refusal(description: "\(error.path): \(error.reason)")
        }
    }

    private mutating func add(_ form: PendingChange) throws(FileError) -> (file: Int, number: Int64, size: Int) {
        let id: Int
        if let current, files[current]?.isSound ?? false {
            id = current
        } else {
            let file = try folder.makeFile()
            lastFile += 1
            id = lastFile
            files[id] = file
            current = id
        }
        guard var file = files[id] else { preconditionFailure("the file was put there or found there") }
        defer { put(file, id) }
        let (number, size) = try file.add(form)
        return (id, number, size)
    }

    /// Has the first write sent in another form from here on; that is on disk when this returns.
    mutating func replaceFirst(by form: PendingChange) throws(FileError) {
        guard let first = queue.first, var file = files[first.file] else { return }
        defer { put(file, first.file) }
        if !file.isSound { file = try folder.rewritten(file, queue.writes(in: first.file)) }
        let size = try file.replace(first.number, by: form, size: first.size)
        queue.replaceFirst(by: form, size: size)
    }

    /// Nothing more is to be done for the first write.
    mutating func endFirst() {
        guard let first = queue.first, var file = files[first.file] else { return }
        queue.removeFirst()
        file.end(first.number, size: first.size)
        if file.isWasteful {
            do {
                file = try folder.rewritten(file, queue.writes(in: first.file))
            } catch {
                file.staysWasteful()
            }
        }
        put(file, first.file)
    }

    /// A file without writes that wait goes.
    private mutating func put(_ file: OutboxFile, _ id: Int) {
        guard file.isDone, folder.remove(file) else {
            files[id] = file
            return
        }
        files[id] = nil
        if current == id { current = nil }
    }
}

/// A write that waits to be sent.
struct KeptWrite: Hashable, Sendable {
    /// The file that it stands in.
    let file: Int
    /// Its number in that.
    let number: Int64
    /// What was asked for.
    let original: PendingChange
    /// What is sent for it.
    var form: PendingChange
    /// How many bytes its line has.
    var size: Int
    /// How often it was sent in another form, after a conflict.
    var conflicts = 0
}

/// The writes that wait, in the order in which they are sent. To take the first one costs the same however many there are.
struct OutboxQueue: Sendable {
    private var writes: ArraySlice<KeptWrite> = []
    /// The bytes of all their lines.
    private(set) var size = 0

    var first: KeptWrite? { writes.first }
    var count: Int { writes.count }
    var isEmpty: Bool { writes.isEmpty }

    mutating func append(_ write: KeptWrite) {
        writes.append(write)
        size += write.size
    }

    mutating func removeFirst() {
        size -= writes.removeFirst().size
        // What was taken is let go of now.
        if writes.isEmpty { writes = [] }
    }

    /// The first is sent in another form from here on.
    mutating func replaceFirst(by form: PendingChange, size newSize: Int) {
        guard let index = writes.indices.first else { return }
        size += newSize - writes[index].size
        writes[index].form = form
        writes[index].size = newSize
        writes[index].conflicts += 1
    }

    /// Those that stand in a file.
    func writes(in file: Int) -> [(number: Int64, write: PendingChange)] {
        writes.filter { $0.file == file }.map { ($0.number, $0.form) }
    }
}
