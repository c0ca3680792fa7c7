import Glibc
import Platform
import SettingsAPI
import SettingsEngine
import SettingsModel
import SettingsStorage
import TestSupport
import Testing

/// Starts, checks and repairs directories that the test has damaged.
@Suite(.ownThread)
struct DamagedDirectoryTests {
    /// Fills a directory with the commits 1 to 12, and damages it. Returns the states before the damage by revision.
    private func damagedFolder(_ damage: DamageCase) throws -> (DataFolder, [Int64: State]) {
        let folder = DataFolder()
        let states = try folder.fill(damage.durability)
        try damage.edit(folder)
        return (folder, states)
    }

    @Test(
        "A start reports the damage that it skips, or refuses with the file, the position and a remedy",
        arguments: DamageCase.all
    )
    func start(_ damage: DamageCase) throws {
        let (folder, states) = try damagedFolder(damage)
        let before = try folder.contents()
        switch damage.start {
        case .starts(let revision, let isNewEpoch, let notes):
            let (recovered, log) = try folder.open(damage.durability)
            let notesFound = recovered.notes.map(\.description).joined(separator: "\n")
            for note in notes { #expect(notesFound.contains(note), "\(notesFound)") }
            #expect(recovered.beganEpoch == isNewEpoch)
            // A new epoch skips `epochRevisionGap` revisions.
            #expect(recovered.state.revision.number == revision + (isNewEpoch ? Recovery.epochRevisionGap : 0))
            #expect(StateDescription(recovered.state).content == states[revision].map { StateDescription($0).content })
            // The next start finds no damage, because this start has repaired it.
            try log.close()
            let (nextRecovery, _) = try folder.open(damage.durability)
            #expect(nextRecovery.notes.isEmpty, "\(nextRecovery.notes)")
            #expect(StateDescription(nextRecovery.state) == StateDescription(recovered.state))
            #expect(try DirectoryCheck(folder.directory).verdict == .sound)
        case .refuses(let kind, let words):
            let error = #expect(throws: RecoveryError.self) { _ = try folder.open(damage.durability) }
            #expect(error?.kind == kind)
            for word in words { #expect(error?.description.contains(word) ?? false, "\(error?.description ?? "")") }
            #expect(try folder.contents() == before, "a refused start must change nothing")
        }
    }

    @Test("A check reports the state of a directory and changes nothing", arguments: DamageCase.all)
    func check(_ damage: DamageCase) throws {
        let (folder, _) = try damagedFolder(damage)
        let before = try folder.contents()
        let check = try DirectoryCheck(folder.directory)
        #expect(check.verdict == damage.check, "\(check.lines.joined(separator: "\n"))")
        for name in before.keys { #expect(check.lines.contains { $0.hasPrefix(name + ": ") }, "\(name)") }
        #expect(try folder.contents() == before)
    }

    @Test("A repaired directory starts with all commits before the damage", arguments: DamageCase.all)
    func repair(_ damage: DamageCase) throws {
        let (folder, states) = try damagedFolder(damage)
        let before = try folder.contents()
        if case .refuses(.newerFormat, _) = damage.start {
            #expect(throws: RecoveryError.self) {
                _ = try DirectoryRepair(folder.directory, apply: true, newEpoch: folder.newEpoch)
            }
            #expect(try folder.contents() == before)
            return
        }
        let plan = try DirectoryRepair(folder.directory, apply: false, newEpoch: folder.newEpoch)
        #expect(plan.outcome == (damage.keptRevision == nil ? .nothingToDo : .wouldRepair), "\(plan.lines)")
        #expect(try folder.contents() == before, "a repair that is not applied must change nothing")
        let repair = try DirectoryRepair(folder.directory, apply: true, newEpoch: folder.newEpoch)
        guard let keptRevision = damage.keptRevision else {
            #expect(repair.outcome == .nothingToDo)
            return
        }
        #expect(repair.outcome == .repaired)
        // The repair deletes nothing: it only renames files.
        let contents = Set(try folder.contents().values)
        for (name, content) in before { #expect(contents.contains(content), "no file has the content of \(name)") }
        #expect(try DirectoryCheck(folder.directory).verdict == .sound)
        let (recovered, _) = try folder.open(damage.durability)
        #expect(StateDescription(recovered.state).content == states[keptRevision].map { StateDescription($0).content })
        // The names of files contain revisions up to 8, so the new epoch begins after them even if no commit was kept.
        #expect(recovered.state.revision.number >= Recovery.epochRevisionGap + 8)
        #expect(recovered.state.epoch != states[12]?.epoch && recovered.notes.isEmpty, "\(recovered.notes)")
        let secondRepair = try DirectoryRepair(folder.directory, apply: false, newEpoch: folder.newEpoch)
        #expect(secondRepair.outcome == .nothingToDo)
    }

    @Test("The error about a directory in use names the process")
    func locked() throws {
        let folder = DataFolder()
        let (_, log) = try folder.open()
        let error = #expect(throws: RecoveryError.self) { _ = try folder.open() }
        #expect(error?.kind == .locked)
        #expect(error?.description.contains("process \(getpid());") ?? false, "\(error?.description ?? "")")
        let repairError = #expect(throws: RecoveryError.self) {
            _ = try DirectoryRepair(folder.directory, apply: true, newEpoch: folder.newEpoch)
        }
        #expect(repairError?.kind == .locked)
        try log.close()
        _ = try folder.open()
    }

    @Test(
        "An inaccessible directory is refused, and neither check nor repair creates a directory",
        arguments: ["below a file", "missing"])
    func inaccessible(_ location: String) throws {
        let folder = DataFolder()
        let temporary = try TemporaryDirectory()
        // A missing path beside a file, or a path below the file.
        let path = try temporary.file("file", "") + (location == "missing" ? "-missing" : "/data")
        let directory = DataDirectory(path)
        // A start would create a missing directory.
        if location != "missing" {
            let error = #expect(throws: RecoveryError.self) {
                _ = try LocalLog.open(
                    directory, options: LocalLog.Options(durability: .always), limits: History.Limits(),
                    log: LogHarness.quiet,
                    newEpoch: folder.newEpoch, clock: { 0 })
            }
            #expect(error?.kind == .inaccessible && error?.description.contains(path) ?? false)
        }
        let checkError = #expect(throws: RecoveryError.self) { _ = try DirectoryCheck(directory) }
        #expect(checkError?.kind == .inaccessible)
        let repairError = #expect(throws: RecoveryError.self) {
            _ = try DirectoryRepair(directory, apply: true, newEpoch: folder.newEpoch)
        }
        #expect(repairError?.kind == .inaccessible)
        #expect(try POSIXFileSystem().list(temporary.path) == ["file"])
    }
}
