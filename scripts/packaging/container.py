"""A Debian system that boots in a Linux namespace, in which a test can install packages."""

import pathlib
import subprocess
import tempfile
import time

# A minimal server, with the shells whose completions are tested.
PACKAGES = "curl,dbus,fish,libstdc++6,systemd,systemd-sysv,zsh"
DEBIAN_RELEASE = "bookworm"
ENVIRONMENT = ("env", "-i", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "DEBIAN_FRONTEND=noninteractive", "HOME=/root")


class CommandFailed(Exception):
    """A command in the container ended with an unexpected exit code."""


class Container:
    """Boots the system in the folder `root`, with the folder `packages` at /mnt. Changes to its files are lost at the end. The
    container has a separate loopback interface, and no other network."""

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
                raise CommandFailed(f"the container did not boot: {self.console.read().decode(errors='replace')}")
            time.sleep(0.2)
        return self

    def __exit__(self, *_):
        # The child is the first process of the namespace. When this process ends, the kernel kills all other processes of the
        # namespace.
        if self.process.poll() is None:
            for child in self._children():
                subprocess.run(["kill", "-KILL", child])
        self.process.wait()

    def run(self, script, expect=0):
        """Runs a bash script in the container. Returns its output. Raises CommandFailed if its exit code is not `expect`."""
        result = subprocess.run(
            ["nsenter", "--all", "--root", "--wd", f"--target={self._children()[0]}", *ENVIRONMENT,
             "bash", "-euo", "pipefail", "-c", script],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=120)
        if result.returncode != expect:
            raise CommandFailed(f"a script ended with {result.returncode}, not {expect}:\n{script}\n{result.stdout}")
        return result.stdout.strip()

    def _children(self):
        return pathlib.Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()

    def _is_running(self):
        try:
            return self.run("systemctl is-system-running --wait || true") in ("running", "degraded")
        except (CommandFailed, IndexError, FileNotFoundError):
            return False


def make_root(root):
    """Downloads a Debian system into the folder `root`, unless the folder exists."""
    if root.exists():
        return
    incomplete = root.with_name(root.name + ".new")
    subprocess.run(["rm", "-rf", incomplete], check=True)
    # File descriptor 2 is standard error.
    subprocess.run(["debootstrap", "--variant=minbase", f"--include={PACKAGES}", DEBIAN_RELEASE, incomplete], check=True,
                   stdout=2)
    incomplete.rename(root)
