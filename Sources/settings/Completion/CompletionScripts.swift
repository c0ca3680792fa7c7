/// The command `completion`, with the scripts that it prints. Each script runs `settings complete` to find the possible
/// words.
enum CompletionCommands {
    static let all = [completion]

    private static let completion = Command(
        name: "completion", forms: [[Command.Operand("bash|zsh|fish")]],
        summary: "Print a script that completes words in a shell.",
        details: """
            The script completes commands, options, suites, keys, and the values of enums and booleans. If the daemon does not
            answer within 0.1 s, the script completes only commands and options.
              bash  in ~/.bashrc:     source <(settings completion bash)
              zsh   in ~/.zshrc:      source <(settings completion zsh)
              fish  in config.fish:   settings completion fish | source
            """,
        examples: ["settings completion bash", "settings completion fish"]
    ) { arguments in
        print(scripts[arguments.operands[0]] ?? "")
        return .done
    }

    private static let scripts = ["bash": bash, "zsh": zsh, "fish": fish]

    /// Bash splits words at `=` and `:`. The script joins the parts again. Bash replaces only the part after the last
    /// `=` or `:`, so the script removes the beginning up to this character from each candidate.
    private static let bash = #"""
        # bash completion for settings

        _settings() {
            local rest=$COMP_LINE words=() piece index line known
            for ((index = 0; index <= COMP_CWORD; index++)); do
                piece=${COMP_WORDS[index]}
                if ((index > 0)) && [[ -n $rest && $rest != [[:space:]]* ]]; then
                    words[${#words[@]} - 1]+=$piece
                else
                    words+=("$piece")
                fi
                rest=${rest#"${rest%%[![:space:]]*}"}
                rest=${rest#"$piece"}
            done
            local word=${words[${#words[@]} - 1]} before= quote=
            case $COMP_WORDBREAKS in *=*) before=${word%"${word##*[=:]}"} ;; esac
            # After an open quote, Bash does not split words, and quotes the candidates itself.
            case $word in [\'\"]*) quote=${word:0:1} before= words[${#words[@]} - 1]=${word:1} ;; esac
            COMPREPLY=()
            while IFS= read -r line; do
                if [[ $line == $'\tfiles' ]]; then
                    compopt -o default 2>/dev/null
                    continue
                fi
                known=${line%%$'\t'*}
                [[ $quote ]] || printf -v known %q "$known"
                COMPREPLY+=("${known#"$before"}")
            done < <(settings complete "${words[@]:1}" 2>/dev/null)
            [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *= ]] && compopt -o nospace 2>/dev/null
            return 0
        }
        complete -F _settings settings
        """#

    /// The script prevents Zsh from adding a space after a candidate that ends with `=`, because the value follows.
    private static let zsh = #"""
        #compdef settings
        # zsh completion for settings

        _settings() {
            local line word
            local -a found shown pairs pairsShown
            for line in "${(@f)$(settings complete "${(@Q)words[2,CURRENT]}" 2>/dev/null)}"; do
                [[ -n $line ]] || continue
                if [[ $line == $'\tfiles' ]]; then
                    _files
                    continue
                fi
                word=${line%%$'\t'*}
                if [[ $word == *= ]]; then
                    pairs+=("$word") pairsShown+=("${line//$'\t'/  -- }")
                else
                    found+=("$word") shown+=("${line//$'\t'/  -- }")
                fi
            done
            (( $#pairs )) && compadd -l -S '' -d pairsShown -a pairs
            (( $#found )) && compadd -l -d shown -a found
            return 0
        }
        if [[ $funcstack[1] == _settings ]]; then _settings "$@"; else compdef _settings settings; fi
        """#

    private static let fish = #"""
        # fish completion for settings

        function __settings_complete
            set -l words (commandline -opc)
            set -l word (string trim --left --chars "'\"" -- (commandline -ct))
            set -l found (settings complete $words[2..] "$word" 2>/dev/null)
            if test "$found" = \tfiles
                __fish_complete_path "$word"
            else if test (count $found) -gt 0
                printf '%s\n' $found
            end
        end
        complete -c settings -f -a '(__settings_complete)'
        """#
}
