"""The manual pages: templates in config/package/man, filled with the help of the programs and the tables in docs/reference."""

import re

MACROS = re.compile(r"^@(\w+)@$", re.MULTILINE)
CODE = re.compile(r"`([^`]*)`")
LINK = re.compile(r"\[([^]]*)\]\([^)]*\)")
ROW = re.compile(r"\| `([\w.]+)` \| (.*?) \| `([^`]*)` \| (?:yes|no) \| ([^|]*) \|.*")


def command_page(template, usage, version):
    """settingsd(1)."""
    forms = [f"settingsd {words}" for words, _ in usage.forms]
    commands, together = [], []
    for form, (_, text) in zip(forms, usage.forms):
        together.append(form)
        if text:
            commands.append(("\n".join(together), text))
            together = []
    environment = usage.others.pop("environment")
    # The page refers to settingsd.json(5), which explains them.
    del usage.others["options without a flag"]
    options = [(f"{flag} {argument}".rstrip(), text) for flag, argument, text in usage.options]
    return _fill(template, {
        "SYNOPSIS": "\n.br\n".join(f"\\fB{_plain(form)}\\fR" for form in forms),
        "OTHERS": "\n".join(f".SH {title.upper()}\n{_sentence(text)}" for title, text in usage.others.items()),
        "ENVIRONMENT": _sentence(environment), "COMMANDS": _items(commands), "OPTIONS": _items(options), "EXITCODES": _items(usage.exit_codes)}, version)


def file_page(template, manual, options, version):
    """settingsd.json(5): the rows of the tables of options in the manual, which must name every option there is."""
    rows = [match.groups() for match in map(ROW.fullmatch, manual.split("\n")) if match]
    rows = [row for row in rows if row[0] in options]
    if missing := options - {row[0] for row in rows}:
        raise ValueError(f"docs/reference has no row for the options {', '.join(sorted(missing))}")
    items = []
    for name, kind, default, text in rows:
        items.append((name, f"{text} ({kind}; default `{default}`)"))
    return _fill(template, {"OPTIONS": _items(items)}, version)


def tool_page(template, commands, exit_codes, version):
    """settings(1)."""
    common = [option for option in commands[0].options if all(option in command.options for command in commands)]
    parts = []
    for command in commands:
        parts.append(f'.SS "{_plain(command.name)}"\n' + "\n.br\n".join(
            f"\\fBsettings {_plain(form)}\\fR" for form in command.usage))
        parts.append(f".PP\n{_plain(command.summary)}")
        for text in command.details:
            lines = list(map(_plain, text.split("\n")))
            parts.append(".PP\n.nf\n%s\n.fi" % "\n".join(lines) if "\n  " in text else ".PP\n" + "\n".join(lines))
        if own := [option for option in command.options if option not in common]:
            parts.append(_items(own))
        parts.append(".PP\nExamples:\n.PP\n.nf\n.RS\n%s\n.RE\n.fi" % "\n".join(map(_plain, command.examples)))
    return _fill(template, {
        "COMMANDS": "\n".join(parts), "OPTIONS": _items(common), "EXITCODES": _items(exit_codes)}, version)


def _fill(template, parts, version):
    text = template.replace("@VERSION@", version)
    return MACROS.sub(lambda match: parts[match[1]], text)


def _items(pairs):
    """Names with what they mean. A name may be several, in lines of their own."""
    def heading(names):
        return "\n.TQ\n".join(f"\\fB{_plain(name)}\\fR" for name in names.split("\n"))
    return "\n".join(f".TP\n{heading(names)}\n{_sentence(text)}" for names, text in pairs)


def _sentence(text):
    """Text with marks of Markdown as lines of roff."""
    bare = LINK.sub(r"\1", text)
    return CODE.sub(r"\\fB\1\\fR", _plain(bare)) + "."


def _plain(text):
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return "\\&" + text if text[:1] in (".", "'") else text

