/// What `--help` prints, made of the same tables that the command line is read with.
enum HelpText {
    static var text: String {
        var lines = [
            "settingsd keeps the settings of programs and serves them over HTTP.",
            "",
            "usage: settingsd [OPTION]...                 run the daemon",
            "       settingsd check [DIR]                 say whether a data directory is sound",
            "       settingsd repair [DIR] [--yes]        say what a repair would cut off; with --yes, do it",
            "",
            "options:",
        ]
        for option in CommandLineOption.allCases {
            lines.append("  \(option.usage)")
            lines.append("        \(option.summary)")
        }
        lines += [
            "",
            "signals: TERM and INT stop the daemon cleanly, a second one at once, as QUIT does;",
            "         HUP, USR1 and USR2 do nothing",
            "",
            "exit codes:",
        ]
        for code in ExitCode.allCases {
            lines.append("  \(code.rawValue < 10 ? " " : "")\(code.rawValue)  \(code.meaning)")
        }
        return lines.joined(separator: "\n")
    }
}
