"""Parses the output of `settings help` for each command. `manual.py` makes the manual page settings(1) from the result."""

import collections
import re
import subprocess

# The usage lines of a command are without the name of the program. An option is a pair such as `--data DIR` and its description.
Command = collections.namedtuple("Command", "name usage summary details options examples")

# A line with two columns, which at least two spaces separate.
COLUMNS = re.compile(r"  (\S.*?)  +(\S.*)")


def read(program):
    """Runs `settings help`. Returns the commands, and the exit codes as pairs of a number and a text."""
    def output_of(*words):
        return subprocess.run([program, *words], check=True, capture_output=True, text=True).stdout.strip()
    sections = _sections(output_of("help"))
    names = [name for name, _ in _columns(sections["commands"])]
    return [_command(name, output_of("help", *name.split())) for name in names], _columns(sections["exit codes"])


def _command(name, text):
    paragraphs = text.split("\n\n")
    sections = _sections(text)
    details = [paragraph for paragraph in paragraphs[2:] if paragraph.partition(":")[0] not in sections]
    usage = [line.removeprefix("usage:").strip().removeprefix("settings ") for line in paragraphs[1].split("\n")]
    return Command(name, usage, paragraphs[0], details, _columns(sections["options"]),
                   [line.strip() for line in sections["examples"].split("\n")])


def _sections(text):
    """Returns a map from titles to paragraphs, for each paragraph whose first line is a title such as `options:`."""
    parts = (paragraph.partition(":\n") for paragraph in text.split("\n\n"))
    return {title: body for title, colon, body in parts if colon and re.fullmatch("[a-z ]+", title)}


def _columns(text):
    """Parses a text with two columns. A line of another form is an error, so that the manual page omits no line."""
    found = [(line, COLUMNS.fullmatch(line)) for line in text.split("\n")]
    if unknown := [line for line, match in found if not match]:
        raise ValueError(f"cannot parse the output of settings help: unknown form of line {unknown[0]!r}")
    return [(match[1].strip(), match[2]) for _, match in found]
