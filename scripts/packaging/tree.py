"""Writes the files of a package into a folder that represents `/`."""

import gzip
import pathlib
import shutil
import subprocess

from . import commands, completions, manual, usage

ROOT = pathlib.Path(__file__).resolve().parents[2]
SOURCES = ROOT / "config/package"


def tool(program):
    """Returns the path of the program `settings`, which is in the same folder as the daemon."""
    return program.with_name("settings")


def documents(program, folder):
    """Writes the manual pages and completions of settingsd and settings. Returns the version of the program."""
    help_text, version, names = usage.read(program)
    template = (SOURCES / "man/settingsd.1").read_text()
    write_compressed(folder / "usr/share/man/man1/settingsd.1.gz", manual.command_page(template, help_text, version))
    template = (SOURCES / "man/settingsd.json.5").read_text()
    options = "".join((ROOT / "docs/reference" / page).read_text() for page in ("configuration.md", "limits.md"))
    page = manual.file_page(template, options, names, version)
    write_compressed(folder / "usr/share/man/man5/settingsd.json.5.gz", page)
    template = (SOURCES / "man/settings.1").read_text()
    page = manual.tool_page(template, *commands.read(tool(program)), version)
    write_compressed(folder / "usr/share/man/man1/settings.1.gz", page)
    for shell, path in {
        "bash": "bash-completion/completions/settings",
        "zsh": "zsh/vendor-completions/_settings",
        "fish": "fish/vendor_completions.d/settings.fish",
    }.items():
        script = subprocess.run([tool(program), "completion", shell], check=True, capture_output=True, text=True).stdout
        _write(folder / "usr/share" / path, script)
    for path, text in {
        "bash-completion/completions/settingsd": completions.bash(help_text),
        "zsh/vendor-completions/_settingsd": completions.zsh(help_text),
        "fish/vendor_completions.d/settingsd.fish": completions.fish(help_text),
    }.items():
        if missing := [option.flag for option in help_text.options if option.flag.lstrip("-") not in text]:
            raise ValueError(f"{path} lacks {', '.join(missing)}")
        _write(folder / "usr/share" / path, text)
    return version


def fill(program, folder):
    """Writes all files of a package. Returns the version of the program."""
    version = documents(program, folder)
    folder.joinpath("usr/bin").mkdir(parents=True)
    # The removed sections differ between builds of the same sources in different folders. The script does not use `strip` of
    # binutils, because the programs that `strip` writes have a writable table of relocations.
    objcopy = pathlib.Path(shutil.which("swift") or "swift").resolve().with_name("llvm-objcopy")
    unstable_sections = ["--remove-section=.swift_modhash", "--remove-section=.note.gnu.build-id"]
    for built in (program, tool(program)):
        installed = folder / "usr/bin" / built.name
        subprocess.run([objcopy, "--strip-all", *unstable_sections, built, installed], check=True)
        installed.chmod(0o755)
    _copy(ROOT / "config/settingsd.service", folder / "usr/lib/systemd/system/settingsd.service")
    _copy(SOURCES / "settingsd.socket", folder / "usr/lib/systemd/system/settingsd.socket")
    _copy(SOURCES / "sysusers.conf", folder / "usr/lib/sysusers.d/settingsd.conf")
    _copy(SOURCES / "settingsd.json", folder / "etc/settingsd/settingsd.json")
    documentation = folder / "usr/share/doc/settingsd"
    _write(documentation / "copyright", (ROOT / "LICENSE").read_text() + (SOURCES / "debian/copyright").read_text())
    write_compressed(documentation / "changelog.gz", (ROOT / "CHANGELOG.md").read_text())
    _copy(ROOT / "SECURITY.md", documentation / "SECURITY.md")
    for page in sorted((ROOT / "docs").rglob("*")):
        if page.is_file() and page.suffix != ".png":
            _copy(page, documentation / page.relative_to(ROOT / "docs"))
    for example in sorted((ROOT / "config").rglob("*")):
        if example.is_file() and example.name != "settingsd.service" and SOURCES not in example.parents:
            _copy(example, documentation / "examples" / example.relative_to(ROOT / "config"))
    return version


def _copy(source, path):
    path.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, path)


def _write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def write_compressed(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(text.encode(), 9, mtime=0))
