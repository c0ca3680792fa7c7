/// The commands that look at a data directory while no daemon uses it.
enum DirectoryCommand {
    /// Says what is found in a data directory, and changes nothing.
    static func check(_ path: String) throws(ProgramError) -> ExitCode {
        let check: DirectoryCheck
        do {
            check = try DirectoryCheck(DataDirectory(path))
        } catch {
            throw ProgramError(StartError.recovery(error))
        }
        for line in check.lines { Program.say(line) }
        return switch check.verdict {
        case .sound: .success
        case .torn: .tornTail
        case .damaged: .damagedData
        }
    }

    /// Says what would be cut off a damaged directory and, if that is confirmed, does it.
    static func repair(_ path: String, isConfirmed: Bool) throws(ProgramError) -> ExitCode {
        do {
            let repair = try DirectoryRepair(DataDirectory(path), apply: isConfirmed, newEpoch: Daemon.newEpoch)
            for line in repair.lines { Program.say(line) }
            switch repair.outcome {
            case .nothingToDo: break
            case .wouldRepair: Program.say("nothing was changed; 'settingsd repair \(path) --yes' does it")
            case .repaired: Program.say("done")
            }
            return .success
        } catch {
            throw ProgramError(StartError.recovery(error))
        }
    }
}
