"""Kills the daemon around the deadlines of pending actions, again and again.

Each round starts the daemon, creates reverts and scheduled writes whose deadlines are some milliseconds away, confirms some
of the reverts, and kills the daemon before, at or after the deadlines. After the last start of a round, the first answer of
the daemon must show no action whose deadline had passed before this start. At the end of a round, each action has ended in
exactly one way: the history of the suite has at most one commit that carried it out, each counter contains its scheduled
addition once, and each reverted setting has the value from before the write.
"""

import datetime
import threading
import time

from harness.daemon import Settingsd, snapshot_options
from harness.http import Connection

from .ledger import Broken

SUITE = "/v1/suites/deadlines"
# Each round creates fewer actions than this number.
ACTIONS_LIMIT = 24
# The journal is small, so that some rounds start from a snapshot with pending actions.
JOURNAL_BYTES = 30_000
# After the last start of a round, every action must end within this time.
SETTLE_TIMEOUT_SECONDS = 30
# The outcomes, and events in the history, of an action that the daemon has carried out.
CARRIED_OUT = {"reverted", "carried_out"}


class Action:
    """One write with a deadline: its request, and the state of its pending action as far as the test knows it."""

    def __init__(self, number, kind):
        # "until": the write is reverted at an instant. "confirm": it is reverted after one second unless it is confirmed.
        # "effective": it is scheduled for an instant. "both": it is scheduled for an instant, and reverted later.
        self.kind = kind
        self.key = f"k{number}"
        self.request_key = f"request-{number}"
        self.request = None
        self.fields = []
        self.identifier = None
        # True if the daemon has confirmed the action, None if the answer to the request was lost, False otherwise.
        self.confirmed = False


class DeadlineTest:
    """Starts and kills daemons with the same data directory, and checks the outcome of every pending action."""

    def __init__(self, program, data, durability, rng):
        self.program = program
        self.data = data
        self.durability = durability
        self.rng = rng
        self.number = 0
        self.tally = dict.fromkeys(("kills", "actions", "reverts", "scheduled writes", "confirmations",
                                    "requests without an answer"), 0)

    def daemon(self):
        return Settingsd(self.program, self.data, self.durability, snapshot_options(journal_bytes=JOURNAL_BYTES))

    def round(self):
        """Creates actions, kills daemons around their deadlines, and checks the actions after the last start."""
        actions = []
        with self.daemon() as daemon:
            # The timer kills the daemon while it gets requests, or while deadlines pass.
            kill_timer = threading.Timer(self.rng.uniform(0.005, 0.5), daemon.kill)
            kill_timer.start()
            try:
                with Connection(daemon.port) as connection:
                    self.create(connection, actions)
                    self.confirm_some(connection, actions)
            except (ConnectionError, TimeoutError) as error:
                # The kill causes errors, but not an answer with an unexpected status, for which `Connection.request` raises an
                # error with the word "answered".
                if "answered" in str(error):
                    raise
            finally:
                kill_timer.join()
        self.tally["kills"] += 1
        # Kills up to two more daemons while they start and carry out the actions that are due.
        for _ in range(self.rng.randrange(3)):
            daemon = self.daemon()
            try:
                daemon.launch()
                time.sleep(self.rng.uniform(0, 0.06))
            finally:
                daemon.kill()
                self.tally["kills"] += 1
        started = now()
        with self.daemon() as daemon, Connection(daemon.port) as connection:
            self.check_no_action_is_late(connection, started)
            self.await_end_of_all(connection, actions)
            self.verify(connection, actions)
            if self.rng.random() < 0.2:
                # A clean stop writes a snapshot.
                daemon.stop()
            else:
                daemon.kill()

    def create(self, connection, actions):
        """Sends writes with random deadlines, and adds an action to `actions` for each."""
        for _ in range(self.rng.randrange(1, ACTIONS_LIMIT)):
            self.number += 1
            action = Action(self.number, self.rng.choice(("until", "effective", "both", "confirm")))
            delay = self.rng.uniform(0.005, 0.5)
            fields = {"until": [("Settings-Until", instant(delay))],
                      "confirm": [("Settings-Confirm", "1")],
                      "effective": [("Settings-Effective", instant(delay))],
                      "both": [("Settings-Effective", instant(delay)),
                               ("Settings-Until", instant(delay + self.rng.uniform(0.005, 0.2)))]}[action.kind]
            if action.kind == "effective":
                # An addition to a key without a value is refused, so the key has the value 0 first.
                connection.request("PUT", f"{SUITE}/keys/{action.key}", 0, expect=(201,))
                action.request = ("PATCH", f"{SUITE}/keys/{action.key}", {"op": "add", "by": 1})
            else:
                action.request = ("PUT", f"{SUITE}/keys/{action.key}", "changed")
            action.fields = [*fields, ("Idempotency-Key", action.request_key)]
            actions.append(action)
            self.tally["actions"] += 1
            self.send(connection, action)

    def send(self, connection, action):
        """Sends the write of an action. The write may be a repeat, because it has an Idempotency-Key."""
        method, path, body = action.request
        answer = connection.request(method, path, body, fields=action.fields, expect=(200, 201, 202, 400))
        # A repeat after a crash may be too late to create the action: its instant has passed.
        if answer.status != 400:
            action.identifier = answer.json()["pending"]["id"]

    def confirm_some(self, connection, actions):
        """Confirms some of the actions that can be confirmed. A confirmation is refused after the deadline."""
        for action in actions:
            if action.kind in ("until", "confirm") and action.identifier and self.rng.random() < 0.3:
                action.confirmed = None
                answer = connection.request("POST", f"/v1/pending/{action.identifier}", {"do": "confirm"},
                                            expect=(200, 409))
                action.confirmed = answer.status == 200
                self.tally["confirmations"] += action.confirmed

    def check_no_action_is_late(self, connection, started):
        """Checks that the first answer shows no action that was due when the daemon was started."""
        for action in connection.request("GET", "/v1/pending").json()["pending"]:
            if action["deadline"] < started:
                raise Broken(f"the daemon serves requests, but {action} was due before its start at {started}")

    def await_end_of_all(self, connection, actions):
        """Repeats the requests without an answer, and waits until every action has ended."""
        for action in actions:
            if action.identifier is None:
                self.tally["requests without an answer"] += 1
                self.send(connection, action)
        ends_at = time.monotonic() + SETTLE_TIMEOUT_SECONDS
        while connection.request("GET", "/v1/pending").json()["pending"]:
            if time.monotonic() > ends_at:
                raise Broken(f"actions are still pending after {SETTLE_TIMEOUT_SECONDS} s")
            time.sleep(0.02)

    def verify(self, connection, actions):
        """Compares the history and the values with the outcome of every action."""
        events = {}
        before = ""
        oldest = min((int(action.identifier[1:]) for action in actions if action.identifier), default=0)
        while True:
            page = connection.request("GET", f"{SUITE}/history?limit=1000{before}").json()
            for commit in page["commits"]:
                for event in commit.get("pending", []):
                    events.setdefault(event["id"], []).append((commit["revision"], event["event"]))
            if "next" not in page or page["next"] < oldest:
                break
            before = f"&before={page['next']}"
        for action in actions:
            if action.identifier is None:
                self.require_value(connection, action, 0 if action.kind == "effective" else None)
                continue
            outcome = connection.request("GET", f"/v1/pending/{action.identifier}", expect=(410,)).json()
            outcome = outcome["pending"]["outcome"]
            found = [event for _, event in events.get(action.identifier, [])]
            expected = ({"carried_out"} if action.kind == "effective" else {"confirmed"} if action.confirmed
                        else {"confirmed", "reverted"} if action.confirmed is None else {"reverted"})
            if outcome not in expected:
                raise Broken(f"{action.identifier} ({action.kind}) ended as {outcome}, expected {expected}: {found}")
            if sum(event in CARRIED_OUT for event in found) != (outcome in CARRIED_OUT):
                raise Broken(f"{action.identifier} ({action.kind}) was carried out more than once or never: {found}")
            # `moved` is the event of a scheduled write that was carried out and will be reverted later.
            if sum(event == "moved" for event in found) != (action.kind == "both"):
                raise Broken(f"the write of {action.identifier} was carried out more than once or never: {found}")
            value = 1 if action.kind == "effective" else "changed" if outcome == "confirmed" else None
            self.require_value(connection, action, value)
            if action.kind in ("effective", "both"):
                self.tally["scheduled writes"] += 1
            elif outcome == "reverted":
                self.tally["reverts"] += 1

    @staticmethod
    def require_value(connection, action, value):
        answer = connection.request("GET", f"{SUITE}/keys/{action.key}", expect=(200, 404))
        found = answer.json()["value"] if answer.status == 200 else None
        if found != value:
            raise Broken(f"{action.key} is {found}, expected {value}: {action.identifier} ({action.kind})")


def now():
    return text(datetime.datetime.now(datetime.timezone.utc))


def instant(seconds):
    return text(datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=seconds))


def text(moment):
    return moment.strftime("%Y-%m-%dT%H:%M:%S.") + f"{moment.microsecond // 1000:03}Z"
