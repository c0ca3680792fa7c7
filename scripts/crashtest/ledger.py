"""The ledger: the values that the daemon has acknowledged or returned, and the writes that have no answer yet.

A *setting* is a pair of suite and key. An *observation* is a revision and the value that a setting had at this revision. It
comes from the acknowledgement of a write or from a read, because the daemon must not lose a value that it has acknowledged or
returned. The value None means that the setting has no value.
"""

from dataclasses import dataclass, field


class Broken(Exception):
    """The daemon broke one of its guarantees."""


@dataclass
class Observations:
    """The observations of a setting: `initial` at the last start of the daemon, and the values by revision since then."""

    initial: tuple = (0, None)
    values: dict = field(default_factory=dict)

    def newest(self, max_revision):
        """Returns the newest observation up to `max_revision`."""
        newer = ((revision, value) for revision, value in self.values.items() if revision <= max_revision)
        return max([self.initial, *newer], key=lambda observation: observation[0])


class Ledger:
    """The observations of all settings. `pending` contains the writes without an answer, in the order of sending. `highest` is the
    highest revision that a client has received. `commits` contains the revisions of all acknowledged commits. `once_total` is
    the value, at the last start of the daemon, of the setting `operations.ONCE`, to which only writes with an Idempotency-Key
    add."""

    def __init__(self):
        self.settings = {}
        self.pending = {}
        self.epoch = None
        self.epochs = set()
        self.highest = 0
        self.commits = set()
        self.acknowledged = 0
        self.once_total = 0

    def observations(self, setting):
        return self.settings.setdefault(setting, Observations())

    def record(self, setting, revision, value):
        """Records an observation. Raises Broken if the setting had another value at the same revision."""
        values = self.observations(setting).values
        if values.setdefault(revision, value) != value:
            raise Broken(f"{name(setting)} had the values {shortened(values[revision])} and {shortened(value)} at revision "
                         f"{revision}")

    def read_cursor(self, response, min_revision):
        """Checks the cursor of an answer, and returns its revision.

        `min_revision` is the highest revision that any client had received when the request was sent. An answer with a lower
        revision would contain an old state.
        """
        epoch, _, digits = response.fields.get("settings-cursor", "").rpartition(".")
        if not epoch or not digits.isdecimal():
            raise Broken(f"the answer has no cursor: {response}")
        if epoch != self.epoch:
            raise Broken(f"the epoch changed from {self.epoch} to {epoch} while the daemon ran")
        revision = int(digits)
        if revision < min_revision:
            raise Broken(f"an answer has revision {revision}, but a client received revision {min_revision} before the request")
        self.highest = max(self.highest, revision)
        return revision

    def record_commit(self, revision, min_revision, cursor):
        """Checks that the revision of an acknowledged commit is unique, higher than `min_revision` (see `read_cursor`), and at
        most `cursor`, the revision in the cursor of the answer."""
        if revision <= min_revision:
            raise Broken(f"a commit got revision {revision}, but a client received revision {min_revision} before the request")
        if revision > cursor:
            raise Broken(f"an answer acknowledges revision {revision}, but its cursor has revision {cursor}")
        if revision in self.commits:
            raise Broken(f"two commits have revision {revision}; the later commit is in epoch {self.epoch}")
        self.commits.add(revision)
        self.acknowledged += 1
        self.highest = max(self.highest, revision)

    def begin_epoch(self, epoch):
        if epoch != self.epoch:
            if epoch in self.epochs:
                raise Broken(f"the daemon used epoch {epoch} again")
            self.epochs.add(epoch)
            self.epoch = epoch

    def restart_from(self, recovered):
        """Replaces all observations with the verified values after a start."""
        self.settings = {setting: Observations(initial=observation) for setting, observation in recovered.items()}
        self.pending.clear()


def name(setting):
    return f"{setting[0]}/{setting[1]}"


def shortened(value):
    text = repr(value)
    return text if len(text) < 60 else f"{text[:40]}… ({len(text)} characters)"
