"""A row of the table of scripts/abuse, which is a test of one kind of abuse: the data and the options of the daemon, and the roles
of the abusive clients."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from harness.http import Connection

from .swarm import Role

Size = TypeVar("Size", int, float)


@dataclass(frozen=True)
class Scale:
    """Chooses the sizes of a full run or of a short run (`--short`)."""

    is_short: bool

    def pick(self, full: Size, short: Size) -> Size:
        return short if self.is_short else full


def load_nothing(_: Connection) -> None:
    pass


@dataclass(frozen=True)
class Abuse:
    """The definition of a row. `load` stores the data. `roles` is called after `load`, because the requests of a role may
    contain the current cursor. The daemon gets the `options`, and a limit of `open_files`.

    `seconds` is the minimum duration of the abuse, because a shorter abuse has no effect. With `writes_large`, the bystander (the
    well-behaved client) also sends large writes. `opens_connections` is false if the abuse takes all connections, so that the bystander can
    open none.
    """

    roles: Callable[[Connection], list[Role]]
    load: Callable[[Connection], None] = load_nothing
    options: dict[str, Any] = field(default_factory=dict)
    open_files: int | None = None
    seconds: float = 0
    writes_large: bool = False
    opens_connections: bool = True


RowBuilder = Callable[[Scale], Abuse]


def name(build: RowBuilder) -> str:
    """Returns the name of a row, which is the name of the function that builds it."""
    return build.__name__.replace("_", "-")


def summary(build: RowBuilder) -> str:
    return (build.__doc__ or "").splitlines()[0]
