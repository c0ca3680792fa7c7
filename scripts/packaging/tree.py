"""The files of a package as they are installed, below a folder that stands for `/`."""

import gzip
import pathlib
import shutil
import subprocess

from . import commands, completions, manual, usage

ROOT = pathlib.Path(__file__).resolve().parents[2]
SOURCES = ROOT / "config/package"


def tool(program):
    """The command line `settings` that was built beside the daemon."""
    return program.with_name("settings")


def documents(program, folder):
    """Writes the manual pages and completions of a daemon and of the command line beside it; returns their version."""
    said, version, names = usage.read(program)
    template = (SOURCES / "man/settingsd.1").read_text()
    write_packed(folder / "usr/share/man/man1/settingsd.1.gz", manual.command_page(template, said, version))
    template = (SOURCES / "man/settingsd.json.5").read_text()
    options = "".join((ROOT / "docs/reference" / page).read_text() for page in ("configuration.md", "limits.md"))
    page = manual.file_page(template, options, names, version)
    write_packed(folder / "usr/share/man/man5/settingsd.json.5.gz", page)
    template = (SOURCES / "man/settings.1").read_text()
    page = manual.tool_page(template, *commands.read(tool(program)), version)
    write_packed(folder / "usr/share/man/man1/settings.1.gz", page)
    for shell, path in {
        "bash": "bash-completion/completions/settings",
        "zsh": "zsh/vendor-completions/_settings",
        "fish": "fish/vendor_completions.d/settings.fish",
    }.items():
        script = subprocess.run([tool(program), "completion", shell], check=True, capture_output=True, text=True).stdout
        _write(folder / "usr/share" / path, script)
    for path, text in {
        "bash-completion/completions/settingsd": completions.bash(said),
        "zsh/vendor-completions/_settingsd": completions.zsh(said),
        "fish/vendor_completions.d/settingsd.fish": completions.fish(said),
    }.items():
        if missing := [option.flag for option in said.options if option.flag.lstrip("-") not in text]:
            raise ValueError(f"{path} lacks {', '.join(missing)}")
        _write(folder / "usr/share" / path, text)
    return version


def fill(program, folder):
    """Writes all files of a package; returns the version of the program."""
    version = documents(program, folder)
    folder.joinpath("usr/bin").mkdir(parents=True)
    # What differs between two builds of the same sources in different folders goes, too. The tool is that of the Swift
    # toolchain: strip of binutils makes the table of relocations writable again.
    objcopy = pathlib.Path(shutil.which("swift") or "swift").resolve().with_name("llvm-objcopy")
    hashes = ["--remove-section=.swift_modhash", "--remove-section=.note.gnu.build-id"]
    for built in (program, tool(program)):
        installed = folder / "usr/bin" / built.name
        subprocess.run([objcopy, "--strip-all", *hashes, built, installed], check=True)
        installed.chmod(0o755)
    _copy(ROOT / "config/settingsd.service", folder / "usr/lib/systemd/system/settingsd.service")
    _copy(SOURCES / "settingsd.socket", folder / "usr/lib/systemd/system/settingsd.socket")
    _copy(SOURCES / "sysusers.conf", folder / "usr/lib/sysusers.d/settingsd.conf")
    _copy(SOURCES / "settingsd.json", folder / "etc/settingsd/settingsd.json")
    notes = folder / "usr/share/doc/settingsd"
    _write(notes / "copyright", (ROOT / "LICENSE").read_text() + (SOURCES / "debian/copyright").read_text())
    write_packed(notes / "changelog.gz", (ROOT / "CHANGELOG.md").read_text())
    _copy(ROOT / "SECURITY.md", notes / "SECURITY.md")
    for page in sorted((ROOT / "docs").rglob("*")):
        if page.is_file() and page.suffix != ".png":
            _copy(page, notes / page.relative_to(ROOT / "docs"))
    for example in sorted((ROOT / "config").rglob("*")):
        if example.is_file() and example.suffix != ".service" and SOURCES not in example.parents:
            _copy(example, notes / "examples" / example.relative_to(ROOT / "config"))
    return version


def _copy(source, path):
    path.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, path)


def _write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def write_packed(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(text.encode(), 9, mtime=0))
