"""Parses the output of `settingsd --help`, for the manual pages and the completions."""

import collections
import json
import re
import subprocess

# An option such as `--data DIR`; `argument` is empty if the option takes no argument.
Option = collections.namedtuple("Option", "flag argument text")
# A form of the command line such as `settingsd repair [DIR] [--yes]`. `words` is the part after the program's name.
Form = collections.namedtuple("Form", "words text")

# A line of the usage, the first line of an option, and a line of the exit codes.
FORM = re.compile(r"(?:usage:)? +settingsd (\S+(?: \S+)*)(?: {2,}(\S.*))?")
OPTION = re.compile(r"  (--\S+)(?: (\S+))?")
EXIT_CODE = re.compile(r" +(\d+)  (\S.*)")


class Usage:
    """The parts of the help text. A line that no pattern matches is an error, so that the manual page omits no line."""

    def __init__(self, text):
        # The first section describes the program.
        _, *sections = text.strip().split("\n\n")
        parts = {section.partition(":")[0]: section for section in sections}
        self.forms = [Form(*_match(FORM, line)) for line in parts.pop("usage").split("\n")]
        lines = parts.pop("options").split("\n")[1:]
        self.options = [Option(*_match(OPTION, line), text.strip()) for line, text in zip(lines[::2], lines[1::2], strict=True)]
        self.exit_codes = [_match(EXIT_CODE, line) for line in parts.pop("exit codes").split("\n")[1:]]
        # The other sections, such as the section about signals, as a map from title to text.
        self.others = {title: " ".join(text.partition(":")[2].split()) for title, text in parts.items()}

    @property
    def commands(self):
        """A map from each command to a pair: the words that can follow it in any of its forms, and its description."""
        found = {}
        for words, text in self.forms:
            command, _, rest = words.partition(" ")
            if re.fullmatch(r"[a-z-]+", command):
                known_words, known_text = found.get(command, ([], ""))
                found[command] = (known_words + re.findall(r"[\w-]+", rest), known_text or text)
        return found


def read(program):
    """Runs the program. Returns its usage, its version, and the names of all options of the configuration."""
    def output_of(*options):
        return subprocess.run([program, *options], check=True, capture_output=True, text=True).stdout
    options = set(json.loads(output_of("--print-config", "--json")))
    return Usage(output_of("--help")), output_of("--version").split()[1], options


def choices(argument):
    """Returns the alternatives of an argument such as `always|interval`, or an empty list for other arguments."""
    words = argument.split("|")
    return words if len(words) > 1 and all(re.fullmatch("[a-z]+", word) for word in words) else []


def _match(pattern, line):
    match = pattern.fullmatch(line)
    if not match:
        raise ValueError(f"cannot parse the output of settingsd --help: unknown form of line {line!r}")
    return tuple(group or "" for group in match.groups())
