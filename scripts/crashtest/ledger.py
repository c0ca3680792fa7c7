"""What is known of the daemon's state: what it acknowledged or showed, and what was asked for without an answer.

A *place* is a (suite, key). A *sighting* is a revision and the value that a place had as of it; whether it comes from
the acknowledgement of a write or from a read makes no difference, for both promise that it stays. A place without a
value has None.
"""

from dataclasses import dataclass, field


class Broken(Exception):
    """The daemon did something that it must never do."""


@dataclass
class Place:
    """What is known of one place since the last start: how it stood then, and what was seen since."""

    base: tuple = (0, None)
    seen: dict = field(default_factory=dict)

    def newest(self, horizon):
        """The newest sighting that still has to hold: not newer than `horizon`."""
        return max([self.base, *((revision, value) for revision, value in self.seen.items() if revision <= horizon)],
                   key=lambda sighting: sighting[0])


class Ledger:
    """All that is known. `pending` holds the writes that were sent and not answered, in the order sent."""

    def __init__(self):
        self.places = {}
        self.pending = {}
        self.epoch = None
        self.epochs = set()
        self.highest = 0
        self.commits = set()
        self.acknowledged = 0
        self.once_total = 0

    def place(self, place):
        return self.places.setdefault(place, Place())

    def saw(self, place, revision, value):
        """Two sightings of a place at one revision are of one value."""
        seen = self.place(place).seen
        if seen.setdefault(revision, value) != value:
            raise Broken(f"{name(place)} had {brief(seen[revision])} and {brief(value)}, both at revision {revision}")

    def read_cursor(self, response, floor):
        """Checks the cursor that every answer carries; returns its revision.

        `floor` is the highest revision that any client had seen when the request was sent: an answer from before it
        would be from a state that is gone.
        """
        epoch, _, digits = response.fields.get("settings-cursor", "").rpartition(".")
        if not epoch or not digits.isdecimal():
            raise Broken(f"no cursor in the answer {response}")
        if epoch != self.epoch:
            raise Broken(f"the epoch changed from {self.epoch} to {epoch} while the daemon ran")
        revision = int(digits)
        if revision < floor:
            raise Broken(f"an answer is as of revision {revision}, but {floor} had been seen before it was asked for")
        self.highest = max(self.highest, revision)
        return revision

    def committed(self, revision, floor, cursor):
        """Checks the revision of an acknowledged commit: above all that was seen before, and of no other commit."""
        if revision <= floor:
            raise Broken(f"a commit got revision {revision}, but {floor} had been seen before it was asked for")
        if revision > cursor:
            raise Broken(f"revision {revision} was acknowledged by an answer as of revision {cursor}")
        if revision in self.commits:
            raise Broken(f"two commits of epoch {self.epoch} have revision {revision}")
        self.commits.add(revision)
        self.acknowledged += 1
        self.highest = max(self.highest, revision)

    def begin_epoch(self, epoch):
        if epoch != self.epoch:
            if epoch in self.epochs:
                raise Broken(f"epoch {epoch} came back")
            self.epochs.add(epoch)
            self.epoch = epoch

    def settle(self, recovered):
        """After a verified start: how things stand now is all that has to be remembered."""
        self.places = {place: Place(base=sighting) for place, sighting in recovered.items()}
        self.pending.clear()


def name(place):
    return f"{place[0]}/{place[1]}"


def brief(value):
    text = repr(value)
    return text if len(text) < 60 else f"{text[:40]}… ({len(text)} characters)"
