"""Makes the manual pages: fills the templates in config/package/man with the help texts and the tables of docs/reference.
`usage` is the parsed help text of settingsd (usage.py); `commands` are the parsed commands of the help text of `settings` (commands.py)."""

import re

# A line of a template that generated text replaces, such as @OPTIONS@ or @SYNOPSIS@.
MACROS = re.compile(r"^@(\w+)@$", re.MULTILINE)
CODE = re.compile(r"`([^`]*)`")
LINK = re.compile(r"\[([^]]*)\]\([^)]*\)")
# A row of a table of options: name, type, default, "yes" or "no" (whether a reload applies the option), and meaning.
ROW = re.compile(r"\| `([\w.]+)` \| (.*?) \| `([^`]*)` \| (?:yes|no) \| ([^|]*) \|.*")


def command_page(template, usage, version):
    """Returns the manual page settingsd(1)."""
    forms = [f"settingsd {words}" for words, _ in usage.forms]
    # Several forms of a command may share one description.
    commands, same_text = [], []
    for form, (_, text) in zip(forms, usage.forms):
        same_text.append(form)
        if text:
            commands.append(("\n".join(same_text), text))
            same_text = []
    environment = usage.others.pop("environment")
    # settingsd.json(5) explains these options.
    del usage.others["options without a flag"]
    options = [(f"{flag} {argument}".rstrip(), text) for flag, argument, text in usage.options]
    return _fill(template, {
        "SYNOPSIS": "\n.br\n".join(f"\\fB{_escape_roff(form)}\\fR" for form in forms),
        "OTHERS": "\n".join(f".SH {title.upper()}\n{_sentence(text)}" for title, text in usage.others.items()),
        "ENVIRONMENT": _sentence(environment), "COMMANDS": _items(commands), "OPTIONS": _items(options),
        "EXITCODES": _items(usage.exit_codes)}, version)


def file_page(template, reference, options, version):
    """Returns the manual page settingsd.json(5). `reference` is the text of docs/reference, whose tables must have a row for
    each option."""
    rows = [match.groups() for match in map(ROW.fullmatch, reference.split("\n")) if match]
    rows = [row for row in rows if row[0] in options]
    if missing := options - {row[0] for row in rows}:
        raise ValueError(f"docs/reference has no row for the options {', '.join(sorted(missing))}")
    items = []
    for name, kind, default, text in rows:
        items.append((name, f"{text} ({kind}; default `{default}`)"))
    return _fill(template, {"OPTIONS": _items(items)}, version)


def tool_page(template, commands, exit_codes, version):
    """Returns the manual page settings(1)."""
    common = [option for option in commands[0].options if all(option in command.options for command in commands)]
    parts = []
    for command in commands:
        parts.append(f'.SS "{_escape_roff(command.name)}"\n' + "\n.br\n".join(
            f"\\fBsettings {_escape_roff(form)}\\fR" for form in command.usage))
        parts.append(f".PP\n{_escape_roff(command.summary)}")
        for text in command.details:
            lines = list(map(_escape_roff, text.split("\n")))
            parts.append(".PP\n.nf\n%s\n.fi" % "\n".join(lines) if "\n  " in text else ".PP\n" + "\n".join(lines))
        if own_options := [option for option in command.options if option not in common]:
            parts.append(_items(own_options))
        parts.append(".PP\nExamples:\n.PP\n.nf\n.RS\n%s\n.RE\n.fi" % "\n".join(map(_escape_roff, command.examples)))
    return _fill(template, {
        "COMMANDS": "\n".join(parts), "OPTIONS": _items(common), "EXITCODES": _items(exit_codes)}, version)


def _fill(template, parts, version):
    text = template.replace("@VERSION@", version)
    return MACROS.sub(lambda match: parts[match[1]], text)


def _items(pairs):
    """Returns a list of names and descriptions in roff. An item can have several names, one on each line."""
    def heading(names):
        return "\n.TQ\n".join(f"\\fB{_escape_roff(name)}\\fR" for name in names.split("\n"))
    return "\n".join(f".TP\n{heading(names)}\n{_sentence(text)}" for names, text in pairs)


def _sentence(text):
    """Converts a Markdown text to roff, and adds a full stop."""
    without_links = LINK.sub(r"\1", text)
    return CODE.sub(r"\\fB\1\\fR", _escape_roff(without_links)) + "."


def _escape_roff(text):
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return "\\&" + text if text[:1] in (".", "'") else text

