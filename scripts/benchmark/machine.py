"""Describes the machine for the report, and installs the programs that the benchmarks need."""

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


class ProgramsMissing(Exception):
    """A program that the benchmarks need is missing, and this script cannot install it."""


def install_missing():
    """Installs the missing programs. Raises ProgramsMissing if there is no apt-get, if the user is not root, or if apt-get fails."""
    packages = sorted({package for program, package in PACKAGES.items() if shutil.which(program) is None})
    if not packages:
        return
    command = ["apt-get", "install", "--yes", "--no-install-recommends", *packages]
    remedy = "install them with:  sudo " + " ".join(command)
    if shutil.which("apt-get") is None:
        raise ProgramsMissing(f"these packages are missing (names of Debian): {' '.join(packages)}")
    if os.geteuid() != 0:
        raise ProgramsMissing(f"these packages are missing: {' '.join(packages)}; {remedy}")
    print(f"installing {' '.join(packages)} (the benchmarks do not use the services that Debian may start for them)")
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for step in (command, ["apt-get", "update"], command):
        run = subprocess.run(step, env=environment, capture_output=True, text=True)
        if step is command and run.returncode == 0:
            return
    raise ProgramsMissing(f"apt-get failed; {remedy}\n{run.stdout[-600:]}{run.stderr[-600:]}")


def allow_open_files():
    """Raises the limit of open files and sockets of this process, and of its children, to the hard limit."""
    hard_limit = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard_limit, hard_limit))


def file_system(folder):
    """Returns the type of the file system of `folder`. On tmpfs, the rates of synced writes would be too high."""
    run = subprocess.run(["stat", "--file-system", "--format=%T", folder], capture_output=True, text=True)
    return run.stdout.strip() or "unknown"


def describe(folder):
    """Yields lines for the report: the hardware, the kernel, the file system and the versions of the programs."""
    with open("/proc/cpuinfo") as cpus:
        model = re.search(r"model name\s*:\s*(.*)", cpus.read())
    with open("/proc/meminfo") as memory:
        gigabytes = int(memory.readline().split()[1]) / 2**20
    load = os.getloadavg()[0]
    yield (f"machine: {os.cpu_count()} cores{' (' + model[1] + ')' if model else ''}, {gigabytes:.0f} GB, "
           f"{platform.system()} {platform.release()}, data on {file_system(folder)}")
    if load > 0.5:
        yield f"  warning: other processes used the machine (load average {load:.1f}); the figures may be wrong"
    versions = []
    for command in VERSIONS:
        run = subprocess.run(command, capture_output=True, text=True)
        number = re.search(r"\d+\.\d+(\.\d+)?", run.stdout + run.stderr)
        versions.append(f"{command[0].removesuffix('-server')} {number[0] if number else '(unknown)'}")
    yield "versions: " + ", ".join(versions)
