"""Watchers by the thousand: the program `watch-load`, which holds them all and times who is woken."""

import contextlib
import json
import subprocess

from .load import LoadFailed

# The setting that the first of the program's keys is; with one key it is what everybody watches.
WATCHED = "/v1/suites/app/keys/watched-0"
SETUP = ("watch-load: all watchers and the PUTs that wake them from one thread, one request in flight for each; the "
         "clock runs from sending a PUT until the last watcher's answer is whole")


class Watchers:
    """`count` connections to a server ("settingsd" or "etcd"), each with a request that waits for a change of one of
    `keys` keys. They connect on request and disconnect at the end."""

    def __init__(self, bench, server, port, count, keys=1, wait=300):
        bench.setups["watch-load"] = SETUP
        self.command = [str(part) for part in (bench.watch_load, server, port, count, keys, wait)]

    def watch(self):
        """Has them all wait; returns when the server holds every request."""
        self._ask("watch")

    def wake(self, count):
        """PUTs so often, to one key after another; returns the seconds until each PUT's last watcher was answered."""
        return self._ask(f"wake {count}")["seconds"]

    def answers(self):
        """How many answers they have had since all came to wait."""
        return self._ask("count")["answers"]

    def _ask(self, command):
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.write(command + "\n")
            self.process.stdin.flush()
        return self._said()

    def _said(self):
        line = self.process.stdout.readline()
        if not line:
            raise LoadFailed(f"{' '.join(self.command)} ended: {self.process.communicate()[1].strip()}")
        return json.loads(line)

    def __enter__(self):
        """Returns once the keys that will be watched have values."""
        self.process = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True)
        self._said()
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.communicate()
