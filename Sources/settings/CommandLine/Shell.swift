import Platform

extension ShellCommand {
    /// Runs the command and waits for its end. Returns its exit code, or 128 plus the number of the signal that ended
    /// it.
    func exitCode() throws(ToolError) -> Int32 {
        do throws(SystemError) {
            return try run()
        } catch {
            throw ToolError(.failed, "cannot run /bin/sh: \(error.reason)")
        }
    }
}
