"""What `settingsd --help` says, in parts: manual pages and completions are made of it."""

import collections
import json
import re
import subprocess

# An option such as `--data DIR`; `argument` is empty if it takes none.
Option = collections.namedtuple("Option", "flag argument text")
# A form of the command line such as `settingsd repair [DIR] [--yes]`; `words` stand behind the program's name.
Form = collections.namedtuple("Form", "words text")

FORM = re.compile(r"(?:usage:)? +settingsd (\S+(?: \S+)*)(?: {2,}(\S.*))?")
OPTION = re.compile(r"  (--\S+)(?: (\S+))?")
EXIT_CODE = re.compile(r" +(\d+)  (\S.*)")


class Usage:
    """The text of `--help`. A line of a form that is not known is an error, so that no manual lacks it."""

    def __init__(self, text):
        _, *sections = text.strip().split("\n\n")
        parts = {section.partition(":")[0]: section for section in sections}
        self.forms = [Form(*_match(FORM, line)) for line in parts.pop("usage").split("\n")]
        lines = parts.pop("options").split("\n")[1:]
        self.options = [Option(*_match(OPTION, line), text.strip()) for line, text in zip(lines[::2], lines[1::2])]
        self.exit_codes = [_match(EXIT_CODE, line) for line in parts.pop("exit codes").split("\n")[1:]]
        # Text in other sections, such as that about signals.
        self.others = {title: " ".join(text.partition(":")[2].split()) for title, text in parts.items()}

    @property
    def commands(self):
        """The forms that begin with a command, by that word: all words that follow in any of them, and its text."""
        found = {}
        for words, text in self.forms:
            command, _, rest = words.partition(" ")
            if re.fullmatch(r"[a-z-]+", command):
                others = found.get(command, ([], ""))
                found[command] = (others[0] + re.findall(r"[\w-]+", rest), others[1] or text)
        return found


def read(program):
    """Asks the program for its usage, its version, and the names of all options of its configuration."""
    def ask(*options):
        return subprocess.run([program, *options], check=True, capture_output=True, text=True).stdout
    return Usage(ask("--help")), ask("--version").split()[1], set(json.loads(ask("--print-config", "--json")))


def choices(argument):
    """The words that an argument such as `always|interval` may be; none if it is anything else."""
    words = argument.split("|")
    return words if len(words) > 1 and all(re.fullmatch("[a-z]+", word) for word in words) else []


def _match(pattern, line):
    match = pattern.fullmatch(line)
    if not match:
        raise ValueError(f"--help has a line of a form that is not known: {line!r}")
    return tuple(group or "" for group in match.groups())
