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
            let repair = try Repair(DataDirectory(path))
            for line in repair.lines { Program.say(line) }
            guard repair.damage != nil else { return .success }
            guard isConfirmed else {
                Program.say("nothing was changed; 'settingsd repair \(path) --yes' does it")
                return .success
            }
            try repair.perform(newEpoch: Daemon.newEpoch)
            Program.say("done")
            return .success
        } catch {
            throw ProgramError(StartError.recovery(error))
        }
    }
}
