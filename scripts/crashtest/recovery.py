"""The checks of a daemon that has just started with the data directory of a daemon that ended."""

import math

from . import operations
from .ledger import Broken, Observations, name, shortened
from .load import CONNECTIONS, own_suite
from .operations import BALANCES, COUNTERS, GROUP, ONCE, pair

# After each start, the test repeats this number of the acknowledged writes with an Idempotency-Key.
REPEATED_WRITES = 5


class Recovery:
    """Checks one start. `may_lose` is true if the durability allows that the last crash lost acknowledged writes. `expected_epoch`
    is NEW or SAME if the epoch must be new or the same, and None if both are allowed. A pending write is a write without an answer."""

    NEW, SAME = "new", "same"

    def __init__(self, connection, ledger, may_lose, expected_epoch):
        self.connection = connection
        self.ledger = ledger
        self.may_lose = may_lose
        self.expected_epoch = expected_epoch

    def verify(self, once):
        """Compares the state of the daemon with the ledger, repeats writes with an Idempotency-Key (`once`, by key), and
        restarts the ledger from the state. Returns the values of all settings, the number of pending writes, and the number
        of pending writes that took effect: writes that set a value other than 0 which is still the value of its setting."""
        self._check_epoch()
        found = self._read_everything()
        # If no write may be lost, every observation must hold. Otherwise a crash loses the newest commits, so the
        # observations up to the newest surviving commit must hold.
        max_revision = max([0, *(revision for revision, _ in found.values())]) if self.may_lose else math.inf
        pending = list(self.ledger.pending.values())
        for setting in {*self.ledger.settings, *found, *(setting for write in pending for setting in write.settings())}:
            check = self._check_counter if setting in (*COUNTERS, ONCE) else self._check_value
            check(setting, found.get(setting, (0, None)), max_revision, pending)
        self._check_atomicity(found)
        if not self.may_lose:
            for number in range(CONNECTIONS):
                self._check_order(own_suite(number), found, pending)
        applied = sum(any(found.get(setting, (0, None))[1] == value for setting, value in write.sets.items() if value)
                      for write in pending)
        self.ledger.restart_from(found)
        if COUNTERS[0] not in found:
            self._create_counters_and_balances()
        else:
            self._repeat_once(once, found[ONCE][1], max_revision)
        return {setting: value for setting, (_, value) in found.items()}, (len(pending), applied)

    def _check_epoch(self):
        """Checks the epoch, and that the daemon does not use a revision again."""
        response = self.connection.request("GET", "/v1")
        epoch, _, digits = response.fields["settings-cursor"].rpartition(".")
        ledger = self.ledger
        if ledger.epoch is not None:
            if self.expected_epoch == self.NEW and epoch == ledger.epoch:
                raise Broken(f"acknowledged writes may be lost, but the epoch is still {epoch}")
            if self.expected_epoch == self.SAME and epoch != ledger.epoch:
                raise Broken(f"the epoch changed from {ledger.epoch} to {epoch}, although no write may be lost")
            if int(digits) < ledger.highest:
                raise Broken(f"the daemon started at revision {digits}, so it would repeat revisions up to {ledger.highest}")
        ledger.begin_epoch(epoch)
        ledger.read_cursor(response, 0)

    def _read_everything(self):
        """Returns a map from each stored setting to its revision and value."""
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

    def _check_value(self, setting, current, max_revision, pending):
        """Checks that a setting has its newest observed value, or the value of a pending write."""
        revision, value = current
        known = self.ledger.settings.get(setting, Observations())
        observed_revision, expected = known.newest(max_revision)
        writes = [write for write in pending if setting in write.settings()]
        if value is None:
            may_be_removed = any(setting in write.sets and write.sets[setting] is None for write in writes)
            # A removal has no revision in `found`, so an acknowledged removal after `max_revision` may have survived.
            if expected is None or may_be_removed or (self.may_lose and any(
                    value is None and at > observed_revision for at, value in known.values.items())):
                return
            raise Broken(f"{name(setting)} has no value; it was {shortened(expected)} at revision {observed_revision}")
        if revision < observed_revision:
            raise Broken(f"{name(setting)} is {shortened(value)} of revision {revision}, but it was "
                         f"{shortened(expected)} at revision {observed_revision}: an acknowledged write is lost")
        if revision == observed_revision:
            if value != expected:
                raise Broken(f"{name(setting)} is {shortened(value)} at revision {observed_revision}, but it was {shortened(expected)}")
        elif not any(setting in write.adds or write.sets[setting] == value for write in writes):
            raise Broken(f"{name(setting)} is {shortened(value)} of revision {revision}, which no client has written; "
                         f"it was {shortened(expected)} at revision {observed_revision}")
        elif setting not in BALANCES and not any(write.sets[setting] == value and write.min_revision < revision
                                               for write in writes):
            raise Broken(f"{name(setting)} is {shortened(value)}, but revision {revision} is older than its write")

    def _check_counter(self, setting, current, max_revision, pending):
        """Checks that a counter has all acknowledged additions, no more than the sent additions, and only grows."""
        known = self.ledger.settings.get(setting, Observations())
        series = sorted([known.initial, *((at, value) for at, value in known.values.items() if at <= max_revision)])
        for (earlier, before), (later, after) in zip(series, series[1:]):
            if before is not None and after <= before:
                raise Broken(f"{name(setting)} was {before} at revision {earlier} and {after} at {later}")
        revision, value = current
        observed_revision, seen = series[-1]
        unanswered = sum(setting in write.adds for write in pending)
        if revision < observed_revision or (value or 0) < (seen or 0):
            raise Broken(f"{name(setting)} is {value} of revision {revision}, but it was {seen} at revision {observed_revision}: "
                         f"acknowledged additions are lost")
        if (revision == observed_revision) != (value == seen):
            raise Broken(f"{name(setting)} is {value} of revision {revision}, but it was {seen} at revision {observed_revision}: "
                         f"a new revision must have a new value")
        if (value or 0) > (seen or 0) + unanswered:
            raise Broken(f"{name(setting)} is {value} of revision {revision}; it was {seen} at revision {observed_revision}, and "
                         f"only {unanswered} additions have no answer")

    @staticmethod
    def _check_atomicity(found):
        """Checks that settings which are only written together are from the same commit."""
        for settings in (GROUP, *(pair(number) for number in range(4))):
            observations = {found.get(setting) for setting in settings}
            if len(observations) > 1:
                raise Broken(f"{', '.join(map(name, settings))} are written together, but are {observations}")
        left, right = (found.get(setting, (0, 0)) for setting in BALANCES)
        if left[1] + right[1] != 0 or left[0] != right[0]:
            raise Broken(f"{' and '.join(map(name, BALANCES))} are changed together and add up to 0, but are "
                         f"{left[1]} of revision {left[0]} and {right[1]} of revision {right[0]}")

    def _check_order(self, suite, found, pending):
        """Checks that the pending writes of a connection took effect in order, without a gap."""
        writes = [write for write in pending if write.connection.suite == suite]
        written = {setting for write in writes for setting in write.sets if setting[0] == suite}
        state = {setting: self.ledger.settings.get(setting, Observations()).newest(math.inf)[1] for setting in written}
        current = {setting: found.get(setting, (0, None))[1] for setting in written}
        if state == current:
            return
        for write in writes:
            state.update((setting, value) for setting, value in write.sets.items() if setting in written)
            if state == current:
                return
        sent = [{name(setting): value for setting, value in write.sets.items() if setting in written} for write in writes]
        raise Broken(f"a connection sent {sent} in this order; a later write took effect, but an earlier write did not: "
                     f"{current}")

    def _create_counters_and_balances(self):
        """Sets the counters and the balances to 0."""
        settings = [*COUNTERS, ONCE, *BALANCES]
        sets = dict.fromkeys(settings, 0)
        write = operations.transaction([{"op": "set", "value": 0} for _ in settings], settings, sets=sets)
        response = self.connection.exchange(write.bytes)
        self.ledger.read_cursor(response, self.ledger.highest)
        self.ledger.once_total = 0
        for setting in settings:
            self.ledger.record(setting, response.json()["revision"], 0)

    def _repeat_once(self, once, value, max_revision):
        """Repeats writes with their Idempotency-Key: all pending writes and the newest acknowledged writes."""
        acknowledged = [key for key, write in once.items() if write.revision is not None]
        for key in [*(key for key, write in once.items() if write.revision is None), *acknowledged[-REPEATED_WRITES:]]:
            write = once[key]
            min_revision = self.ledger.highest
            response = self.connection.exchange(write.bytes)
            cursor = self.ledger.read_cursor(response, min_revision)
            if response.status != 200:
                raise Broken(f"the answer to a repeated write with its Idempotency-Key is {response}")
            answer = response.json()
            if answer.get("replayed"):
                if write.revision not in (None, answer["revision"]):
                    raise Broken(f"a write had revision {write.revision}, but the answer to its repetition is {response}")
                continue
            if write.revision is not None and write.revision <= max_revision:
                raise Broken(f"the daemon applied a repeated write again, which had revision {write.revision}: "
                             f"{response}")
            self.ledger.record_commit(answer["revision"], min_revision, cursor)
            if answer["value"] != value + 1:
                raise Broken(f"an addition of 1 changed {name(ONCE)} from {value} to {answer['value']}")
            value = answer["value"]
            self.ledger.record(ONCE, answer["revision"], value)
        total = self.ledger.once_total + len(once)
        if not self.may_lose and value != total:
            raise Broken(f"{name(ONCE)} is {value} after {total} writes with different keys: the daemon lost a write or "
                         "applied it twice")
        self.ledger.once_total = value

