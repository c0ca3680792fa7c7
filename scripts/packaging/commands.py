"""What `settings help` says of each command, in parts: the manual page settings(1) is made of it."""

import collections
import re
import subprocess

# A command: its usage lines without the program's name, its summary, paragraphs, options as pairs, and examples.
Command = collections.namedtuple("Command", "name usage summary details options examples")

COLUMNS = re.compile(r"  (\S.*?)  +(\S.*)")


def read(program):
    """Asks the program for its commands and exit codes."""
    def ask(*words):
        return subprocess.run([program, *words], check=True, capture_output=True, text=True).stdout.strip()
    sections = _sections(ask("help"))
    names = [name for name, _ in _columns(sections["commands"])]
    return [_command(name, ask("help", *name.split())) for name in names], _columns(sections["exit codes"])


def _command(name, text):
    paragraphs = text.split("\n\n")
    sections = _sections(text)
    details = [paragraph for paragraph in paragraphs[2:] if paragraph.partition(":")[0] not in sections]
    usage = [line.removeprefix("usage:").strip().removeprefix("settings ") for line in paragraphs[1].split("\n")]
    return Command(name, usage, paragraphs[0], details, _columns(sections["options"]),
                   [line.strip() for line in sections["examples"].split("\n")])


def _sections(text):
    """The paragraphs that begin with a title in a line of its own, by that."""
    parts = (paragraph.partition(":\n") for paragraph in text.split("\n\n"))
    return {title: body for title, mark, body in parts if mark and re.fullmatch("[a-z ]+", title)}


def _columns(text):
    """Pairs of a word and what it means. A line of another form is an error, so that no manual lacks it."""
    found = [(line, COLUMNS.fullmatch(line)) for line in text.split("\n")]
    if strange := [line for line, match in found if not match]:
        raise ValueError(f"settings help has a line of a form that is not known: {strange[0]!r}")
    return [(match[1].strip(), match[2]) for _, match in found]
