"""The requests of the load: the bytes of each request, the checks of its answer, and the observations from the answer.

Each write uses a number or a text that no other write uses, so that a value identifies its write.
"""

from harness.http import render

from .ledger import Broken, name, shortened

# The settings of this group are only written together. The two balances always add up to 0.
GROUP = [("group", f"g{number}") for number in range(8)]
BALANCES = [("left", "balance"), ("right", "balance")]
# Additions to this setting have an Idempotency-Key.
ONCE = ("once", "count")
COUNTERS = [("counters", f"c{number}") for number in range(3)]
SUITES = ["shared", "bulk", "counters", "once", "group", "left", "right"]


def pair(number):
    return [("left", f"p{number}"), ("right", f"p{number}")]


def path(setting):
    return f"/v1/suites/{setting[0]}/keys/{setting[1]}"


class Request:
    """An unanswered request. `min_revision` is the highest revision that any client had received when the request was sent.
    `connection` is the client of load.py that sent the request."""

    def __init__(self, method, target, body=None, fields=()):
        self.bytes = render(method, target, body, fields)
        self.min_revision = 0
        self.connection = None

    def check_response(self, response, ledger, cursor):
        """Checks the answer, and records its observations in the ledger."""
        raise NotImplementedError


class Write(Request):
    """A request that changes settings. `sets` maps settings to new values (None: removed). `adds` maps settings to numbers to
    add."""

    def __init__(self, method, target, body, sets=None, adds=None, fields=()):
        super().__init__(method, target, body, fields)
        self.sets = sets or {}
        self.adds = adds or {}
        self.revision = None

    def check_response(self, response, ledger, cursor):
        if response.status == 503:
            self._check_refusal(response, ledger)
            return
        if response.status == 404 and self.removes():
            del ledger.pending[id(self)]  # The suite does not exist yet.
            return
        if response.status not in (200, 201):
            raise Broken(f"a write to {', '.join(map(name, self.settings()))} was answered {response}")
        answer = response.json()
        self.revision = answer["revision"]
        if answer["changed"]:
            ledger.record_commit(self.revision, self.min_revision, cursor)
            if self.revision <= self.connection.last_commit:
                raise Broken(f"a connection got revision {self.revision} after revision {self.connection.last_commit}")
            self.connection.last_commit = self.revision
        elif not self.may_change_nothing():
            raise Broken(f"the answer to a write of a new value says that nothing changed: {response}")
        for setting, value in self.values(answer).items():
            ledger.record(setting, self.revision, value)
        del ledger.pending[id(self)]

    def _check_refusal(self, response, ledger):
        """Checks a refusal of a daemon that stops. If the outcome is `not_done`, the write must never have an effect."""
        outcome = response.json().get("outcome")
        if outcome == "not_done":
            del ledger.pending[id(self)]
        elif outcome != "unknown":
            raise Broken(f"the answer to a refused write has no outcome: {response}")

    def removes(self):
        return None in self.sets.values()

    def may_change_nothing(self):
        return self.removes()

    def settings(self):
        return [*self.sets, *self.adds]

    def values(self, answer):
        """Returns the value of each setting after this commit, according to the answer. Checks the values of `sets`."""
        if "changes" in answer:
            suite = self.settings()[0][0]
            found = {(change.get("suite", suite), change["key"]): change["new"] for change in answer["changes"]}
            if set(found) != set(self.settings()):
                raise Broken(f"the answer to a write of {self.settings()} reports changes of {sorted(found)}")
        else:
            found = {self.settings()[0]: answer["value"]}
        for setting, value in self.sets.items():
            if found[setting] != value:
                raise Broken(f"{name(setting)} was set to {shortened(value)}; the answer says {shortened(found[setting])}")
        return found


class Repeat(Write):
    """A repetition of a PUT that a connection has just sent. The repetition changes nothing. The daemon must not answer it before
    the first PUT is durable, because the answer confirms the value."""

    def __init__(self, setting, value):
        super().__init__("PUT", path(setting), value, sets={setting: value})

    def check_response(self, response, ledger, cursor):
        if response.status == 200 and response.json()["changed"]:
            raise Broken(f"the answer to a repeated PUT says that a value changed: {response}")
        return super().check_response(response, ledger, cursor)

    def may_change_nothing(self):
        return True


class Read(Request):
    """A GET of a setting. If only its connection writes the setting, `expected` is the value of the last write."""

    ANYTHING = object()

    def __init__(self, setting, expected=ANYTHING):
        super().__init__("GET", path(setting))
        self.setting = setting
        self.expected = expected

    def check_response(self, response, ledger, cursor):
        if response.status == 404:
            value = None
        elif response.status == 200:
            answer = response.json()
            value = answer["value"]
            if answer["revision"] > cursor:
                raise Broken(f"{name(self.setting)} has revision {answer['revision']}, but the cursor has {cursor}")
            ledger.record(self.setting, answer["revision"], value)
        else:
            raise Broken(f"GET of {name(self.setting)} was answered {response}")
        if self.expected is not Read.ANYTHING and value != self.expected:
            raise Broken(f"{name(self.setting)} is {shortened(value)} after its connection wrote {self.expected}")


class ReadGroup(Request):
    """A GET of the suite whose keys are only written together."""

    def __init__(self):
        super().__init__("GET", "/v1/suites/group")

    def check_response(self, response, ledger, cursor):
        if response.status == 404:
            return
        values = response.json()["values"]
        if len(set(values.values())) > 1 or len(values) not in (0, len(GROUP)):
            raise Broken(f"the keys of the suite `group` are only written together, but a GET returned {values}")


def put(setting, value, key=None):
    return Write("PUT", path(setting), value, sets={setting: value}, fields=_idempotency_field(key))


def remove(setting):
    return Write("DELETE", path(setting), None, sets={setting: None})


def add(setting, by=1, key=None):
    return Write("PATCH", path(setting), {"op": "add", "by": by}, adds={setting: by}, fields=_idempotency_field(key))


def set_group(value):
    return Write("PATCH", "/v1/suites/group", {setting[1]: value for setting in GROUP}, sets=dict.fromkeys(GROUP, value))


def set_pair(number, value):
    settings = pair(number)
    return transaction([{"op": "set", "value": value} for _ in settings], settings, sets=dict.fromkeys(settings, value))


def transfer(amount):
    by = dict(zip(BALANCES, (-amount, amount)))
    return transaction([{"op": "add", "by": value} for value in by.values()], BALANCES, adds=by)


def transaction(operations, settings, **effects):
    steps = [{**operation, "suite": setting[0], "key": setting[1]} for operation, setting in zip(operations, settings)]
    return Write("POST", "/v1/transaction", {"do": steps}, **effects)


def _idempotency_field(key):
    return [("Idempotency-Key", key)] if key else ()
