"""The requests that make up the load: what each sends, what its answer must look like, what it then tells.

Every value written is a number or text that no other write uses, so that a value names the write it is from.
"""

from harness.http import render

from .ledger import Broken, brief, name

GROUP = [("group", f"g{number}") for number in range(8)]
BALANCES = [("left", "balance"), ("right", "balance")]
ONCE = ("once", "count")
COUNTERS = [("counters", f"c{number}") for number in range(3)]
SUITES = ["shared", "bulk", "counters", "once", "group", "left", "right"]


def pair(number):
    return [("left", f"p{number}"), ("right", f"p{number}")]


def path(place):
    return f"/v1/suites/{place[0]}/keys/{place[1]}"


class Request:
    """One request under way. `floor` is the highest revision that any client had seen when it was sent."""

    def __init__(self, method, target, body=None, fields=()):
        self.bytes = render(method, target, body, fields)
        self.floor = 0
        self.connection = None

    def answered(self, response, ledger, cursor):
        """Checks the answer and enters what it tells into the ledger."""
        raise NotImplementedError


class Write(Request):
    """A request that changes places: `sets` to values (None removes), `adds` by numbers."""

    def __init__(self, method, target, body, sets=None, adds=None, fields=()):
        super().__init__(method, target, body, fields)
        self.sets = sets or {}
        self.adds = adds or {}
        self.revision = None

    def answered(self, response, ledger, cursor):
        if response.status == 503:
            self._refused(response, ledger)
            return
        if response.status == 404 and self.removes():
            del ledger.pending[id(self)]  # from a suite that does not exist yet
            return
        if response.status not in (200, 201):
            raise Broken(f"a write to {', '.join(map(name, self.places()))} was answered {response}")
        answer = response.json()
        self.revision = answer["revision"]
        if answer["changed"]:
            ledger.committed(self.revision, self.floor, cursor)
            if self.revision <= self.connection.last_commit:
                raise Broken(f"revision {self.revision} came after {self.connection.last_commit} on one connection")
            self.connection.last_commit = self.revision
        elif not self.may_change_nothing():
            raise Broken(f"a write of something new says that it changed nothing: {response}")
        for place, value in self.values(answer).items():
            ledger.saw(place, self.revision, value)
        del ledger.pending[id(self)]

    def _refused(self, response, ledger):
        """While stopping the daemon may refuse; what is certainly not done must then never show up."""
        outcome = response.json().get("outcome")
        if outcome == "not_done":
            del ledger.pending[id(self)]
        elif outcome != "unknown":
            raise Broken(f"a refusal without an outcome: {response}")

    def removes(self):
        return None in self.sets.values()

    def may_change_nothing(self):
        return self.removes()

    def places(self):
        return [*self.sets, *self.adds]

    def values(self, answer):
        """The value of each place after this commit, as the answer has it."""
        if "changes" in answer:
            suite = self.places()[0][0]
            found = {(change.get("suite", suite), change["key"]): change["new"] for change in answer["changes"]}
            if set(found) != set(self.places()):
                raise Broken(f"a write to {self.places()} reports changes of {sorted(found)}")
        else:
            found = {self.places()[0]: answer["value"]}
        for place, value in self.sets.items():
            if found[place] != value:
                raise Broken(f"{name(place)} was set to {brief(value)}; the answer says {brief(found[place])}")
        return found


class Repeat(Write):
    """The same PUT again, behind the first on the same connection: changes nothing, but rests on what may not be
    durable yet, so its answer promises as much as the first one's."""

    def __init__(self, place, value):
        super().__init__("PUT", path(place), value, sets={place: value})

    def answered(self, response, ledger, cursor):
        if response.status == 200 and response.json()["changed"]:
            raise Broken(f"a repeated PUT says that it changed something: {response}")
        return super().answered(response, ledger, cursor)

    def may_change_nothing(self):
        return True


class Read(Request):
    """A GET of one place. `expected` is given where only this connection writes there: its own writes come first."""

    ANYTHING = object()

    def __init__(self, place, expected=ANYTHING):
        super().__init__("GET", path(place))
        self.place = place
        self.expected = expected

    def answered(self, response, ledger, cursor):
        if response.status == 404:
            value = None
        elif response.status == 200:
            answer = response.json()
            value = answer["value"]
            if answer["revision"] > cursor:
                raise Broken(f"{name(self.place)} is of revision {answer['revision']}, the answer as of {cursor}")
            ledger.saw(self.place, answer["revision"], value)
        else:
            raise Broken(f"GET of {name(self.place)} was answered {response}")
        if self.expected is not Read.ANYTHING and value != self.expected:
            raise Broken(f"{name(self.place)} reads {brief(value)} on the connection that made it {self.expected}")


class ReadGroup(Request):
    """A GET of the suite whose keys are only ever written together."""

    def __init__(self):
        super().__init__("GET", "/v1/suites/group")

    def answered(self, response, ledger, cursor):
        if response.status == 404:
            return
        values = response.json()["values"]
        if len(set(values.values())) > 1 or len(values) not in (0, len(GROUP)):
            raise Broken(f"a suite that is only written as a whole reads {values}")


def put(place, value, key=None):
    return Write("PUT", path(place), value, sets={place: value}, fields=_idempotency(key))


def remove(place):
    return Write("DELETE", path(place), None, sets={place: None})


def add(place, by=1, key=None):
    return Write("PATCH", path(place), {"op": "add", "by": by}, adds={place: by}, fields=_idempotency(key))


def set_group(value):
    return Write("PATCH", "/v1/suites/group", {place[1]: value for place in GROUP}, sets=dict.fromkeys(GROUP, value))


def set_pair(number, value):
    places = pair(number)
    return transaction([{"op": "set", "value": value} for _ in places], places, sets=dict.fromkeys(places, value))


def transfer(amount):
    by = dict(zip(BALANCES, (-amount, amount)))
    return transaction([{"op": "add", "by": value} for value in by.values()], BALANCES, adds=by)


def transaction(operations, places, **effects):
    steps = [{**operation, "suite": place[0], "key": place[1]} for operation, place in zip(operations, places)]
    return Write("POST", "/v1/transaction", {"do": steps}, **effects)


def _idempotency(key):
    return [("Idempotency-Key", key)] if key else ()
