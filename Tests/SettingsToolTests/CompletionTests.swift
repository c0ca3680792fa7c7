import Foundation
import TestSupport
import Testing

/// Tests of `settings completion` with the completion functions of bash, fish and zsh. These functions run the hidden
/// command `settings complete`, whose last argument is the word at the cursor.
/// `Shell` applies the schema in `Shell.swift` to the suite `app`, in commit 1.
@Suite(.ownThread)
struct CompletionTests {
    /// The typed text, and the words that the shell offers for the last word of the text.
    private static let cases: [(typed: String, words: [String])] = [
        ("settings se", ["set"]),
        ("settings describe ", ["app", "other"]),
        ("settings get app pl", ["player.muted", "player.volume"]),
        ("settings set app theme ", ["dark", "light"]),
        ("settings set app player.muted ", ["false", "true"]),
        ("settings get app --so", ["--source"]),
        ("settings sche", ["schema"]),
        ("settings schema re", ["remove"]),
        ("settings help schema sh", ["show"]),
        ("settings schema generate m", ["markdown"]),
        ("settings schema remove ", ["app", "other"]),
        ("settings schema diff app app.js", ["app.json"]),
        ("settings schema apply app app.json --on-conflict ", ["keep", "refuse", "reset"]),
        ("settings find x --suite o", ["other"]),
        ("settings help wa", ["wait", "watch"]),
        ("settings completion z", ["zsh"]),
        ("settings get app --server unix:/nothing ", []),
        ("settings nothing ", []), ("settings --token-file app.js", ["app.json"]),
        // A quotation mark that is not closed yet.
        (#"settings get app "pl"#, ["player.muted", "player.volume"]),
    ]

    /// More cases: pairs of a name and a value, which bash splits at the equals sign.
    private static let pairs: [(typed: String, words: [String])] = [
        ("settings set app theme=", ["theme=dark", "theme=light"]),
        ("settings set app launchCount=1 theme=d", ["theme=dark"]),
        ("settings set app launchCount=1 player.", ["player.muted=", "player.volume="]),
        ("settings wait app player.muted=f", ["player.muted=false"]),
        ("settings export app --format=pl", ["--format=plist"]),
    ]

    private static func shell() throws -> Shell { try Shell(["settings set other a 1 --quiet"]) }

    @Test("Bash completes commands, options, suites, keys, values and files", .enabled(if: isInstalled("bash")))
    func bash() throws {
        let shell = try Self.shell()
        // The function at_tab does what bash does at the Tab key: it sets the variables COMP_… and calls _settings.
        // The Swift code below splits the line into words as bash does, at spaces and `=`. The builtin compopt works
        // only during a completion, so a function with the name compopt adds the files to the candidates.
        var script = """
            source <(settings completion bash)
            complete -p settings
            compopt() { [[ $2 != default ]] || COMPREPLY+=($(compgen -f -- "${COMP_WORDS[COMP_CWORD]}")); }
            at_tab() {
                local expected=$1 found
                COMP_LINE=$2 COMP_POINT=${#2} COMP_WORDS=("${@:3}") COMP_CWORD=$(($# - 3))
                # On a busy machine, the daemon may take longer than the 100 ms for which completion waits.
                for attempt in 1 2 3 4 5; do
                    COMPREPLY=()
                    _settings
                    found=$(printf '%s\\n' "${COMPREPLY[@]}" | sort | paste -sd ' ')
                    [[ $found != "$expected" ]] || break
                done
                echo "$found"
            }

            """
        let cases = (Self.cases + Self.pairs).map { typed, words in
            // Bash completes only the part after the equals sign.
            let words = words.map {
                $0.contains("=") && !$0.hasSuffix("=") ? $0.components(separatedBy: "=")[1] : $0
            }
            return (typed: typed, found: words.joined(separator: " "))
        }
        for (typed, found) in cases {
            let words = typed.split(separator: " ").flatMap { word in
                let parts = word.components(separatedBy: "=")
                return parts.count > 1 ? [parts[0], "="] + (parts[1].isEmpty ? [] : [parts[1]]) : [String(word)]
            }
            let quoted = (words + (typed.hasSuffix(" ") ? [""] : [])).map { "'\($0)'" }
            script += "at_tab '\(found)' '\(typed)' \(quoted.joined(separator: " "))\n"
        }
        _ = try shell.directory.file("at-tab", script)
        let lines = try shell.run("bash -i at-tab").output.components(separatedBy: "\n")
        #expect(lines[0] == "complete -F _settings settings")
        try #require(lines.count > cases.count + 1, "\(lines)")
        for (line, (typed, found)) in zip(lines.dropFirst(), cases) { #expect(line == found, "\(typed)") }
    }

    @Test("Fish completes commands, options, suites, keys, values and files", .enabled(if: isInstalled("fish")))
    func fish() throws {
        let shell = try Self.shell()
        let cases = Self.cases + Self.pairs
        for (typed, words) in cases {
            let typed = typed.replacing("\"", with: #"\""#)
            let line = #"fish --no-config --command "settings completion fish | source; complete -C'\#(typed)'""#
            var (found, end) = ([String](), "")
            // On a busy machine, the daemon may take longer than the 100 ms for which completion waits.
            for attempt in 1...5 where attempt == 1 || found.sorted() != words {
                let run = try shell.run(line)
                end = "\(run)"
                found = run.output.split(separator: "\n").map { String($0.split(separator: "\t")[0]) }
            }
            #expect(found.sorted() == words, "\(typed): \(end)")
        }
    }

    @Test("Zsh completes the only possible word at the Tab key in a terminal", .enabled(if: isInstalled("zsh")))
    func zsh() throws {
        let shell = try Self.shell()
        let unique = (Self.cases + Self.pairs).filter { $0.words.count == 1 }
        // The shell runs in a terminal, which echoes the typed text. The quotation marks in READY and TYPED keep this
        // echo from looking like output. `tab` types a line and Tab, then puts `print` before the line with Ctrl-A.
        let script = """
            zmodload zsh/zpty
            zpty shell zsh -f -i
            until_seen() { local text; zpty -r -m shell text "*$1*" }
            zpty -w shell 'unsetopt zle_bracketed_paste; autoload -U compinit; compinit -D -u'
            zpty -w shell 'source <(settings completion zsh); print RE""ADY'
            until_seen READY
            tab() {
                zpty -w -n shell "$1"$'\\t'$'\\C-A'"print -r -- TY"'""'"PED "$'\\n'
                local text; zpty -r -m shell text $'*TYPED *\\n'
                print -r -- "${${text##*TYPED }%%$'\\r'*}"
            }

            """
        let lines = unique.map { "tab '\($0.typed)'" }.joined(separator: "\n")
        _ = try shell.directory.file("at-tab", script + lines + "\nzpty -d shell\n")
        let expected = unique.map { (typed, words) in
            (typed.split(separator: " ", omittingEmptySubsequences: false).dropLast() + [Substring(words[0])])
                .joined(separator: " ")
        }
        var (found, errors) = ([String](), "")
        // On a busy machine, the daemon may take longer than the 100 ms for which completion waits.
        for attempt in 1...5 where attempt == 1 || found != expected {
            let end = try shell.run("exec zsh -f at-tab")
            errors = end.errors
            found = end.output.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }
        }
        #expect(found == expected, "\(errors)")
    }

    @Test(
        "If the daemon does not run or does not answer, completion offers only commands and options, and prints no message"
    )
    func withoutDaemon() throws {
        let shell = try Self.shell()
        func checkCompletion() throws {
            for line in [
                "settings complete get ''", "settings complete set app theme=", "settings complete nothing ''",
            ] {
                #expect(try shell.run(line) == ChildProcess.End(code: 0, output: "", errors: ""), "\(line)")
            }
            #expect(try shell.run("settings complete descr | cut -f 1").output == "describe\n")
            #expect(try shell.run("settings complete get app --js | cut -f 1").output == "--json\n")
        }
        shell.freeze()
        try checkCompletion()
        shell.thaw()
        try shell.stop()
        try checkCompletion()
        #expect(try shell.run("settings completion tcsh").code == 64)
    }
}

extension CompletionTests {
    /// True if this user may create a namespace and mount a file over another file in it.
    private static let canMount = (try? ChildProcess(["-rm", "true"], of: "/usr/bin/unshare").end().code) == 0

    @Test("Completion ends within seconds if the name service does not answer", .enabled(if: canMount))
    func silentNameService() throws {
        let shell = try Self.shell()
        // `mount` puts a FIFO in the place of /etc/hosts. The resolver opens the FIFO, and waits until a process writes
        // to the FIFO.
        let mount = "mkfifo hosts; unshare -rm sh -c 'mount --bind hosts /etc/hosts;"
        let start = ContinuousClock.now
        let server = "--server http://nowhere.test:7"
        #expect(try shell.run("\(mount) settings complete \(server) descr' | cut -f 1").output == "describe\n")
        #expect(try shell.run("\(mount) settings complete get \(server) a'").output == "")
        #expect(.now - start < .seconds(8))
    }

    @Test("Completion does not read a token from standard input or a FIFO, and does not send a request to the daemon")
    func tokenInPipe() throws {
        let shell = try Self.shell()
        // `cat` prints what completion has left in the pipe. If completion sent a request, the output would begin with
        // the keys of `app`.
        #expect(try shell.run("printf secret | (settings complete get --token-file - app ''; cat)").output == "secret")
        #expect(
            try shell.run("printf secret | (SETTINGS_TOKEN_FILE=- settings complete descr; cat)").output.hasSuffix(
                "\nsecret"))
        let fifo = "mkfifo fifo; printf secret >fifo & settings complete get --token-file fifo app ''; cat fifo"
        #expect(try shell.run(fifo).output == "secret")
    }

    // The exit code 8 says that the time of `--timeout` is over.
    @Test("wait ends with exit code 8 after its timeout if the name service is silent", .enabled(if: canMount))
    func waitWithSilentNameService() throws {
        let shell = try Self.shell()
        let mount = "mkfifo hosts; exec unshare -rm sh -c 'mount --bind hosts /etc/hosts;"
        let start = ContinuousClock.now
        #expect(
            try shell.run("\(mount) exec settings wait app a b --timeout 1 --server http://nowhere.test:7'").code == 8)
        #expect(.now - start < .seconds(8))
    }

    @Test(
        "Completion offers a key that contains [ in brackets and quotation marks, except for the PREFIX of list"
    )
    func keyWithBracket() throws {
        let shell = try Shell([#"settings set other '["a[b"]=1' --quiet"#])
        for (command, word) in [("get", #"["a[b"]"#), ("describe", #"["a[b"]"#), ("list", "a[b")] {
            // On a busy machine, the daemon may take longer than completion waits for an answer.
            try eventually { try shell.run("settings complete \(command) other ''").output == "\(word)\n" }
        }
    }

    @Test("Completion offers the last of 1,200 suites")
    func manySuites() throws {
        let shell = try Shell()
        let names = (1...1200).map { "s\(10_000 + $0)" }
        let suites = names.map { #""\#($0)":{"a":1}"# }.joined(separator: ",")
        _ = try shell.directory.file("many.json", #"{"suites":{\#(suites)}}"#)
        #expect(try shell.run("settings apply many.json --quiet").code == 0)
        // A page has at most 1,000 suites. On a busy machine, the daemon may take longer than completion waits for an
        // answer.
        try eventually { try shell.run("settings complete get s1 | cut -f 1 | tail -n 1").output == "s11200\n" }
    }
}

/// True if a shell is installed.
private func isInstalled(_ shell: String) -> Bool { access("/usr/bin/\(shell)", X_OK) == 0 }
