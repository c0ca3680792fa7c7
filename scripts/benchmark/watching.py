"""Thousands of watchers: the program `watch-load` holds their connections, and times their notification."""

import contextlib
import json
import subprocess

from .load import LoadFailed

# The setting of the first key of watch-load. If watch-load has only one key, all watchers watch this setting.
WATCHED = "/v1/suites/app/keys/watched-0"
SETUP = ("watch-load: one thread for all watchers and for the PUTs that notify them; the time of a PUT ends when the last "
         "watcher has received its whole answer")


class Watchers:
    """`count` connections to a server ("settingsd" or "etcd"). The connections are distributed evenly over `keys` keys.
    Each connection waits up to `wait` seconds for a change of its key. `watch` opens the connections, and the end of
    the `with` block closes them."""

    def __init__(self, bench, server, port, count, keys=1, wait=300):
        bench.setups["watch-load"] = SETUP
        self.command = [str(part) for part in (bench.watch_load, server, port, count, keys, wait)]

    def watch(self):
        """Connects all watchers. Returns when the server has received all their requests."""
        self._ask("watch")

    def notify(self, count):
        """Makes watch-load send `count` PUTs, each to the next key. Returns the seconds from each PUT to the last answer."""
        return self._ask(f"wake {count}")["seconds"]

    def answers(self):
        """Returns the number of answers that the watchers have received since `watch`."""
        return self._ask("count")["answers"]

    def _ask(self, command):
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.write(command + "\n")
            self.process.stdin.flush()
        return self._read_reply()

    def _read_reply(self):
        line = self.process.stdout.readline()
        if not line:
            raise LoadFailed(f"{' '.join(self.command)} ended: {self.process.communicate()[1].strip()}")
        return json.loads(line)

    def __enter__(self):
        """Starts watch-load. Returns when the keys that the watchers will watch have values."""
        self.process = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True)
        self._read_reply()
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.communicate()
