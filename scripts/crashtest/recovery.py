"""What must be true of a daemon that has just started on the directory of one that is gone."""

import math

from . import operations
from .ledger import Broken, Place, brief, name
from .load import CONNECTIONS, own_suite
from .operations import BALANCES, COUNTERS, GROUP, ONCE, pair

# How many of the acknowledged writes with an Idempotency-Key are asked for again after each start.
REPEATED = 5


class Recovery:
    """Looks at one start. `may_lose` says whether the run before ended without a chance to write down what it had
    acknowledged, in a mode that allows that; `epoch` is NEW or SAME where it has to be."""

    NEW, SAME = "new", "same"

    def __init__(self, connection, ledger, may_lose, epoch):
        self.connection = connection
        self.ledger = ledger
        self.may_lose = may_lose
        self.epoch = epoch

    def verify(self, once):
        """Holds the daemon's state against the ledger, settles what was sent with an Idempotency-Key (`once`, by key),
        and makes the ledger start from there. Returns the values of all places, and a tally of pending writes."""
        self._begin()
        found = self._read_everything()
        # Where nothing may be lost, every sighting holds. Otherwise those do that are not newer than the newest commit
        # that survived: what is lost is lost from the end.
        horizon = max([0, *(revision for revision, _ in found.values())]) if self.may_lose else math.inf
        pending = list(self.ledger.pending.values())
        for place in {*self.ledger.places, *found, *(place for write in pending for place in write.places())}:
            check = self._counted if place in (*COUNTERS, ONCE) else self._stood
            check(place, found.get(place, (0, None)), horizon, pending)
        self._whole(found)
        if not self.may_lose:
            for number in range(CONNECTIONS):
                self._in_order(own_suite(number), found, pending)
        applied = sum(any(found.get(place, (0, None))[1] == value for place, value in write.sets.items() if value)
                      for write in pending)
        self.ledger.settle(found)
        if COUNTERS[0] not in found:
            self._set_up()
        else:
            self._settle_once(once, found[ONCE][1], horizon)
        return {place: value for place, (_, value) in found.items()}, (len(pending), applied)

    def _begin(self):
        """Which epoch it is, and where its revisions go on."""
        response = self.connection.request("GET", "/v1")
        epoch, _, digits = response.fields["settings-cursor"].rpartition(".")
        ledger = self.ledger
        if ledger.epoch is not None:
            if self.epoch == self.NEW and epoch == ledger.epoch:
                raise Broken(f"acknowledged writes may be lost, but the epoch is {epoch} as before")
            if self.epoch == self.SAME and epoch != ledger.epoch:
                raise Broken(f"the epoch changed from {ledger.epoch} to {epoch}, though nothing may be lost")
            if int(digits) < ledger.highest:
                raise Broken(f"starts at revision {digits}, but {ledger.highest} was seen: revisions would repeat")
        ledger.begin_epoch(epoch)
        ledger.read_cursor(response, 0)

    def _read_everything(self):
        """Every stored value with its revision, by place."""
        found = {}
        for suite in [*operations.SUITES, *map(own_suite, range(CONNECTIONS))]:
            path = after = f"/v1/suites/{suite}/keys"
            while after:
                response = self.connection.request("GET", after, expect=(200, 404))
                if response.status == 404:
                    break
                page = response.json()
                for setting in page["keys"]:
                    found[suite, setting["key"]] = (setting["revision"], setting["value"])
                after = f"{path}?after={page['next']}" if page.get("next") else None
        return found

    def _stood(self, place, now, horizon, pending):
        """A place that is set: stands as last seen, or as a write made it that was sent and never answered."""
        revision, value = now
        known = self.ledger.places.get(place, Place())
        last, expected = known.newest(horizon)
        claims = [write for write in pending if place in write.places()]
        if value is None:
            removals = any(place in write.sets and write.sets[place] is None for write in claims)
            if expected is None or removals or (self.may_lose and any(
                    value is None and at > last for at, value in known.seen.items())):
                return
            raise Broken(f"{name(place)} is gone; it was {brief(expected)} at revision {last}")
        if revision < last:
            raise Broken(f"{name(place)} is {brief(value)} of revision {revision}, but was seen as "
                         f"{brief(expected)} of revision {last}: an acknowledged write is lost")
        if revision == last:
            if value != expected:
                raise Broken(f"{name(place)} is {brief(value)}; at the same revision {last} it was {brief(expected)}")
        elif not any(place in write.adds or write.sets[place] == value for write in claims):
            raise Broken(f"{name(place)} is {brief(value)} of revision {revision}, which no client can have written; "
                         f"{brief(expected)} of revision {last} was seen last")
        elif place not in BALANCES and not any(write.sets[place] == value and write.floor < revision
                                               for write in claims):
            raise Broken(f"{name(place)} is {brief(value)}, whose revision {revision} was given before it was sent")

    def _counted(self, place, now, horizon, pending):
        """A counter: at least what was acknowledged, at most what was sent, and growing with each revision."""
        known = self.ledger.places.get(place, Place())
        series = sorted([known.base, *((at, value) for at, value in known.seen.items() if at <= horizon)])
        for (earlier, before), (later, after) in zip(series, series[1:]):
            if before is not None and after <= before:
                raise Broken(f"{name(place)} was {before} at revision {earlier} and {after} at {later}")
        revision, value = now
        last, seen = series[-1]
        unanswered = sum(place in write.adds for write in pending)
        if revision < last or (value or 0) < (seen or 0):
            raise Broken(f"{name(place)} is {value} of revision {revision}, but was {seen} at revision {last}: "
                         f"acknowledged additions are lost")
        if (revision == last) != (value == seen) or (value or 0) > (seen or 0) + unanswered:
            raise Broken(f"{name(place)} is {value} of revision {revision}; it was {seen} at revision {last}, and "
                         f"only {unanswered} additions were not answered")

    @staticmethod
    def _whole(found):
        """What is only ever written together is all from one commit."""
        for places in (GROUP, *(pair(number) for number in range(4))):
            sightings = {found.get(place) for place in places}
            if len(sightings) > 1:
                raise Broken(f"{', '.join(map(name, places))} are written together, but are {sightings}")
        left, right = (found.get(place, (0, 0)) for place in BALANCES)
        if left[1] + right[1] != 0 or left[0] != right[0]:
            raise Broken(f"{' and '.join(map(name, BALANCES))} are changed together and sum up to 0, but are "
                         f"{left[1]} of revision {left[0]} and {right[1]} of revision {right[0]}")

    def _in_order(self, suite, found, pending):
        """Unanswered writes of one connection took effect up to some point: none was skipped."""
        writes = [write for write in pending if write.connection.suite == suite]
        touched = {place for write in writes for place in write.sets if place[0] == suite}
        state = {place: self.ledger.places.get(place, Place()).newest(math.inf)[1] for place in touched}
        now = {place: found.get(place, (0, None))[1] for place in touched}
        if state == now:
            return
        for write in writes:
            state.update((place, value) for place, value in write.sets.items() if place in touched)
            if state == now:
                return
        sent = [{name(place): value for place, value in write.sets.items() if place in touched} for write in writes]
        raise Broken(f"of {sent}, sent in this order on one connection, some took effect and an earlier one did not: "
                     f"{now}")

    def _set_up(self):
        """Gives counters and balances a number to start from."""
        places = [*COUNTERS, ONCE, *BALANCES]
        sets = dict.fromkeys(places, 0)
        write = operations.transaction([{"op": "set", "value": 0} for _ in places], places, sets=sets)
        response = self.connection.exchange(write.bytes)
        self.ledger.read_cursor(response, self.ledger.highest)
        self.ledger.once_total = 0
        for place in places:
            self.ledger.saw(place, response.json()["revision"], 0)

    def _settle_once(self, once, value, horizon):
        """Asks again for what was sent with an Idempotency-Key: without an answer, or lately acknowledged."""
        acknowledged = [key for key, write in once.items() if write.revision is not None]
        for key in [*(key for key, write in once.items() if write.revision is None), *acknowledged[-REPEATED:]]:
            write = once[key]
            floor = self.ledger.highest
            response = self.connection.exchange(write.bytes)
            cursor = self.ledger.read_cursor(response, floor)
            if response.status != 200:
                raise Broken(f"a write repeated with its Idempotency-Key was answered {response}")
            answer = response.json()
            if answer.get("replayed"):
                if write.revision not in (None, answer["revision"]):
                    raise Broken(f"a write was acknowledged as revision {write.revision}, repeated: {response}")
                continue
            if write.revision is not None and write.revision <= horizon:
                raise Broken(f"a write acknowledged as revision {write.revision} was done again when repeated: "
                             f"{response}")
            self.ledger.committed(answer["revision"], floor, cursor)
            if answer["value"] != value + 1:
                raise Broken(f"{name(ONCE)} went from {value} to {answer['value']} by adding 1")
            value = answer["value"]
            self.ledger.saw(ONCE, answer["revision"], value)
        total = self.ledger.once_total + len(once)
        if not self.may_lose and value != total:
            raise Broken(f"{name(ONCE)} is {value} after {total} writes with keys of their own: one was done twice or "
                         f"not at all")
        self.ledger.once_total = value

