"""A Debian system of its own that boots in a namespace, in which packages can be installed for real."""

import pathlib
import subprocess
import tempfile
import time

# What a server has, with the shells that completions are for and nothing more.
PACKAGES = "curl,dbus,fish,libstdc++6,systemd,systemd-sysv,zsh"
SUITE = "bookworm"
ENVIRONMENT = ("env", "-i", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "DEBIAN_FRONTEND=noninteractive", "HOME=/root")


class CommandFailed(Exception):
    """A command in the system ended with another code than expected."""


class Container:
    """Boots a copy of `root` that forgets all changes when it ends. It has no network but its own loopback."""

    def __init__(self, root, packages):
        self.root = pathlib.Path(root)
        self.packages = packages

    def __enter__(self):
        self.console = tempfile.TemporaryFile()
        self.process = subprocess.Popen(
            ["systemd-nspawn", "--quiet", "--directory", self.root, "--volatile=overlay", "--boot", "--register=no",
             "--keep-unit", "--private-network", "--console=pipe", f"--bind-ro={self.packages}:/mnt"],
            stdin=subprocess.DEVNULL, stdout=self.console, stderr=self.console)
        deadline = time.monotonic() + 60
        while not self._is_running():
            if self.process.poll() is not None or time.monotonic() > deadline:
                self.__exit__()
                self.console.seek(0)
                raise CommandFailed(f"the system did not boot: {self.console.read().decode(errors='replace')}")
            time.sleep(0.2)
        return self

    def __exit__(self, *_):
        # Its first process is killed, and with it the namespace and all that runs there.
        if self.process.poll() is None:
            for child in self._children():
                subprocess.run(["kill", "-KILL", child])
        self.process.wait()

    def run(self, script, expect=0):
        """Runs a script of the shell in the system; returns what it printed."""
        done = subprocess.run(
            ["nsenter", "--all", "--root", "--wd", f"--target={self._children()[0]}", *ENVIRONMENT,
             "bash", "-euo", "pipefail", "-c", script],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=120)
        if done.returncode != expect:
            raise CommandFailed(f"ended with {done.returncode}, not {expect}:\n{script}\n{done.stdout}")
        return done.stdout.strip()

    def _children(self):
        return pathlib.Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()

    def _is_running(self):
        try:
            return self.run("systemctl is-system-running --wait || true") in ("running", "degraded")
        except (CommandFailed, IndexError, FileNotFoundError):
            return False


def make_root(root):
    """Makes the system to boot from Debian's mirror, unless it is there."""
    if root.exists():
        return
    parts = root.with_name(root.name + ".new")
    subprocess.run(["rm", "-rf", parts], check=True)
    subprocess.run(["debootstrap", "--variant=minbase", f"--include={PACKAGES}", SUITE, parts], check=True, stdout=2)
    parts.rename(root)
