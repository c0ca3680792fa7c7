"""Makes the completions of the command line of settingsd for bash, zsh and fish. `usage` is the parsed help text (usage.py)."""

from .usage import choices

# Arguments with these names are paths, which a shell can complete. Arguments with alternatives (see `choices`) are completed to the
# alternatives. All other arguments have no completion.
FOLDER, FILE = "DIR", "FILE"


def bash(usage):
    cases = []
    for flag, argument, _ in usage.options:
        if words := choices(argument):
            cases.append(f"{flag}) COMPREPLY=($(compgen -W '{' '.join(words)}' -- \"$word\")); return ;;")
        elif argument in (FOLDER, FILE):
            compgen_flag = "-d" if argument == FOLDER else "-f"
            cases.append(f"{flag}) compopt -o filenames; COMPREPLY=($(compgen {compgen_flag} -- \"$word\")); return ;;")
        elif argument:
            cases.append(f"{flag}) return ;;")
    commands = []
    for name, (words, _) in usage.commands.items():
        compgen_flag = {FILE: "-f", FOLDER: "-d", None: None}[_operand_kind(words)]
        paths = f"; compopt -o filenames; COMPREPLY=($(compgen {compgen_flag} -- \"$word\"))" if compgen_flag else ""
        commands.append(f"{name}) words='{' '.join(_literal_words(words) + _options(words))}'{paths} ;;")
    words = [*usage.commands, *(option.flag for option in usage.options)]
    return f"""\
# bash completion for settingsd

_settingsd() {{
    local word=${{COMP_WORDS[COMP_CWORD]}} words
    case ${{COMP_WORDS[COMP_CWORD - 1]}} in
    {_join_lines(cases)}
    esac
    case $COMP_CWORD:${{COMP_WORDS[1]}} in
    1:*) words='{' '.join(words)}' ;;
    {_join_lines("*:" + case for case in commands)}
    *) words='{' '.join(option.flag for option in usage.options)}' ;;
    esac
    COMPREPLY+=($(compgen -W "$words" -- "$word"))
}}
complete -F _settingsd settingsd
"""


def zsh(usage):
    def action(argument):
        return {FOLDER: "_files -/", FILE: "_files"}.get(argument, f"({' '.join(choices(argument))})")

    def specification(option):
        argument = f":{_escape_zsh(option.argument)}:{action(option.argument)}" if option.argument else ""
        return f"'*{option.flag}[{_escape_zsh(option.text)}]{argument}' \\"
    commands = [f"'{name}:{_escape_quotes(text)}'" for name, (_, text) in usage.commands.items()]
    cases = []
    for name, (words, _) in usage.commands.items():
        literal = [f"compadd -- {' '.join(_literal_words(words))}"] if _literal_words(words) else []
        paths = {FILE: ["_files"], FOLDER: ["_files -/"], None: []}[_operand_kind(words)]
        cases.append(f"{name}) {'; '.join(literal + paths)} ;;")
    return f"""\
#compdef settingsd
# zsh completion for settingsd

local state
local -a commands=(
    {_join_lines(commands)}
)
_arguments \\
    {_join_lines(map(specification, usage.options))}
    '1:command:->command' '*:operand:->operand'
case $state in
command) _describe command commands ;;
operand)
    case $words[2] in
    {_join_lines(cases)}
    esac
    ;;
esac
"""


def fish(usage):
    lines = ["# fish completion for settingsd", "", "complete -c settingsd -f"]
    for flag, argument, text in usage.options:
        folders = "-xa '(__fish_complete_directories)'"
        values = {"": "", FOLDER: folders, FILE: "-rF"}.get(argument, f"-xa '{' '.join(choices(argument))}'")
        lines.append(f"complete -c settingsd -l {flag[2:]} {values} -d '{_escape_fish(text)}'".replace("  ", " "))
    for name, (words, text) in usage.commands.items():
        lines.append(f"complete -c settingsd -n __fish_use_subcommand -a {name} -d '{_escape_fish(text)}'")
        paths = {FILE: ["(__fish_complete_path)"], FOLDER: ["(__fish_complete_directories)"], None: []}
        values = _literal_words(words) + paths[_operand_kind(words)]
        lines.append(f"complete -c settingsd -n '__fish_seen_subcommand_from {name}' -a '{' '.join(values)}'")
    return "\n".join(lines) + "\n"


def _literal_words(words):
    """Returns the literal words of a command, without duplicates. Words in capitals are placeholders."""
    return [word for word in dict.fromkeys(words) if word.islower() and word[0] != "-"]


def _operand_kind(words):
    """Returns the kind of path of the operand of a command. FILE has priority, because DIR may belong to an option."""
    return next((kind for kind in (FILE, FOLDER) if kind in words), None)


def _options(words):
    return [word for word in dict.fromkeys(words) if word[0] == "-"]


def _join_lines(lines):
    return "\n    ".join(lines)


def _escape_quotes(text):
    """Escapes a text for single quotes of a POSIX shell."""
    return text.replace("'", "'\\''")


def _escape_zsh(text):
    for mark in "\\[]:":
        text = text.replace(mark, "\\" + mark)
    return _escape_quotes(text)


def _escape_fish(text):
    return text.replace("\\", "\\\\").replace("'", "\\'")
