import TestSupport

extension Shell {
    /// Runs a command line at a new terminal.
    ///
    /// - Parameter answers: texts, and the keys to press when the command line prints the text. `\\n` is Enter, and
    ///   `\\003` is Ctrl-C.
    /// - Returns: the whole output at the terminal, and the exit code. If a signal has ended the command line, the code
    ///   is the negative number of the signal.
    func atTerminal(_ line: String, _ answers: [(text: String, keys: String)] = []) throws -> (
        output: String, code: Int
    ) {
        let program = """
            import os, pty, select, sys
            line, answers = sys.argv[1], sys.argv[2:]
            process, terminal = pty.fork()
            if process == 0: os.execv("/bin/sh", ["sh", "-c", line])
            output, searchStart = "", 0
            while select.select([terminal], [], [], 60)[0]:
                try: piece = os.read(terminal, 4096).decode(errors="replace")
                except OSError: break
                if not piece: break
                output += piece
                if answers and answers[0] in output[searchStart:]:
                    searchStart = len(output)
                    os.write(terminal, answers[1].encode().decode("unicode_escape").encode())
                    answers = answers[2:]
            print(os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]))
            print(output.replace("\\r\\n", "\\n"), end="")
            """
        let file = try directory.file("terminal.py", program)
        let words = answers.map { " '\($0.text)' '\($0.keys)'" }.joined()
        let command = try directory.file("line", line)
        let end = try run("python3 '\(file)' \"$(cat '\(command)')\"\(words)")
        let parts = end.output.split(separator: "\n", maxSplits: 1, omittingEmptySubsequences: false)
        guard end.code == 0, let code = parts.first.flatMap({ Int($0) }) else {
            throw ChildProcess.Failure(description: "\(end)")
        }
        return (String(parts.last ?? ""), code)
    }
}
