"""The machine a report is about, and the programs that have to be on it."""

import os
import platform
import re
import resource
import shutil
import subprocess

PACKAGES = {
    "wrk": "wrk",
    "nginx": "nginx-light",
    "redis-server": "redis-server",
    "redis-benchmark": "redis-tools",
    "etcd": "etcd-server",
}
VERSIONS = (["nginx", "-v"], ["redis-server", "--version"], ["etcd", "--version"], ["wrk", "-v"])


class PeersMissing(Exception):
    """A program to compare with is not installed and cannot be installed from here."""


def install_missing():
    """Installs the peers that are missing, where this user may; otherwise says what to run."""
    packages = sorted({package for program, package in PACKAGES.items() if shutil.which(program) is None})
    if not packages:
        return
    command = ["apt-get", "install", "--yes", "--no-install-recommends", *packages]
    by_hand = "install them with:  sudo " + " ".join(command)
    if shutil.which("apt-get") is None:
        raise PeersMissing(f"these packages are missing (Debian's names): {' '.join(packages)}")
    if os.geteuid() != 0:
        raise PeersMissing(f"these packages are missing: {' '.join(packages)}; {by_hand}")
    print(f"installing {' '.join(packages)} (where Debian then runs them as services, those are left alone and idle)")
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for attempt in (command, ["apt-get", "update"], command):
        run = subprocess.run(attempt, env=environment, capture_output=True, text=True)
        if attempt is command and run.returncode == 0:
            return
    raise PeersMissing(f"apt-get failed; {by_hand}\n{run.stdout[-600:]}{run.stderr[-600:]}")


def allow_open_files():
    """Lets this program, and so all it starts, have as many files and sockets open as it may."""
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def file_system(folder):
    """The type of file system that holds `folder`: syncing to memory alone would flatter everybody."""
    run = subprocess.run(["stat", "--file-system", "--format=%T", folder], capture_output=True, text=True)
    return run.stdout.strip() or "unknown"


def describe(folder):
    """Lines that say where the figures come from."""
    with open("/proc/cpuinfo") as cpus:
        model = re.search(r"model name\s*:\s*(.*)", cpus.read())
    with open("/proc/meminfo") as memory:
        gigabytes = int(memory.readline().split()[1]) / 2**20
    load = os.getloadavg()[0]
    yield (f"machine: {os.cpu_count()} cores{' (' + model[1] + ')' if model else ''}, {gigabytes:.0f} GB, "
           f"{platform.system()} {platform.release()}, data on {file_system(folder)}")
    if load > 0.5:
        yield f"  note: something else was running here before (load average {load:.1f}), so take the figures with care"
    versions = []
    for command in VERSIONS:
        run = subprocess.run(command, capture_output=True, text=True)
        number = re.search(r"\d+\.\d+(\.\d+)?", run.stdout + run.stderr)
        versions.append(f"{command[0].removesuffix('-server')} {number[0] if number else '(unknown)'}")
    yield "versions: " + ", ".join(versions)
