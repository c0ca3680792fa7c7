/// The commands that look at a data directory while no daemon uses it.
enum DirectoryCommand {
    /// Says what is found in a data directory, and changes nothing.
    static func check(_ path: String) throws(ProgramError) -> ExitCode {
        throw notYet("check")
    }

    /// Says what would be cut off a damaged directory and, if that is confirmed, does it.
    static func repair(_ path: String, isConfirmed: Bool) throws(ProgramError) -> ExitCode {
        throw notYet("repair")
    }

    private static func notYet(_ name: String) -> ProgramError {
        ProgramError(.internalFailure, "\(name) does nothing yet", remedy: "use a later version")
    }
}
