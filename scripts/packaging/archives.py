"""Makes archives. Equal files give equal bytes, because the owner and the time of a file do not depend on the build.

The parameter `epoch` is a time in seconds since 1970, as in SOURCE_DATE_EPOCH."""

import email.utils
import gzip
import hashlib
import os
import pathlib
import shutil
import subprocess
import tempfile

from .tree import SOURCES, write_compressed

MAINTAINER = "settingsd maintainers <maintainers@settingsd.example>"
DESCRIPTION = """\
settings of programs, typed and served over HTTP
 A small daemon that stores settings in suites. It validates each write with
 the JSON Schema of the suite, keeps every acknowledged write, and notifies
 watchers of changes. Programs in any language use its HTTP API with JSON.
 People use the command line settings or the web page."""


def tarball(tree, version, epoch, output):
    """Packs the folder `tree` into a compressed tar archive. Returns the path of the archive."""
    path = output / f"settingsd-{version}-linux-{os.uname().machine}.tar.gz"
    packed = subprocess.run(
        ["tar", "--create", "--sort=name", "--format=gnu", "--owner=0", "--group=0", "--numeric-owner",
         f"--mtime=@{epoch}", f"--transform=s,^\\.,settingsd-{version},", "--directory", tree, "."],
        check=True, capture_output=True).stdout
    path.write_bytes(gzip.compress(packed, 9, mtime=0))
    return path


def package(tree, version, epoch, output):
    """Packs the folder `tree` into a package for Debian. Returns the path of the package."""
    architecture = _output_of("dpkg", "--print-architecture")
    maintainer = f"{os.environ['DEBFULLNAME']} <{os.environ['DEBEMAIL']}>" if "DEBEMAIL" in os.environ else MAINTAINER
    path = output / f"settingsd_{version}-1_{architecture}.deb"
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder, "root")
        shutil.copytree(tree, root)
        date = email.utils.formatdate(epoch)
        write_compressed(
            root / "usr/share/doc/settingsd/changelog.Debian.gz",
            f"settingsd ({version}-1) unstable; urgency=medium\n\n  * changelog.gz lists the changes.\n\n"
            f" -- {maintainer}  {date}\n")
        control = root / "DEBIAN"
        shutil.copytree(SOURCES / "debian", control, ignore=shutil.ignore_patterns("copyright"))
        files = sorted(path for path in root.rglob("*") if path.is_file() and control not in path.parents)
        control.joinpath("conffiles").write_text("/etc/settingsd/settingsd.json\n")
        control.joinpath("md5sums").write_text("".join(
            f"{hashlib.md5(file.read_bytes()).hexdigest()}  {file.relative_to(root)}\n"
            for file in files if "etc" not in file.relative_to(root).parts))
        control.joinpath("control").write_text(
            f"Package: settingsd\nVersion: {version}-1\nArchitecture: {architecture}\nMaintainer: {maintainer}\n"
            # In KiB; each file is rounded up.
            f"Installed-Size: {sum(file.stat().st_size + 1023 >> 10 for file in files)}\n"
            f"Depends: {_libraries(root)}, systemd | systemd-standalone-sysusers | systemd-sysusers\n"
            # The command line loads libssl only for a server with an https:// address.
            f"Suggests: libssl3\n"
            f"Section: net\nPriority: optional\nDescription: {DESCRIPTION}\n")
        subprocess.run(["dpkg-deb", "--build", "--root-owner-group", "-Zxz", root, path], check=True,
                       env={**os.environ, "SOURCE_DATE_EPOCH": str(epoch)}, stdout=subprocess.DEVNULL)
    return path


def _libraries(root):
    """Returns the value of the field Depends: the packages of the libraries that the programs load, with their minimum versions."""
    with tempfile.TemporaryDirectory() as folder:
        control = pathlib.Path(folder, "debian/control")
        control.parent.mkdir()
        control.write_text("Source: settingsd\n\nPackage: settingsd\nArchitecture: any\n")
        output = _output_of("dpkg-shlibdeps", "-O", f"-e{root}/usr/bin/settingsd", f"-e{root}/usr/bin/settings", cwd=folder)
    return output.partition("=")[2]


def _output_of(*command, **options):
    return subprocess.run(command, check=True, capture_output=True, text=True, **options).stdout.strip()
