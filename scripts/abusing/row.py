"""What a row is: the data that the daemon has before, the roles of the abuser, and the daemon's options."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from harness.http import Connection

from .swarm import Role

Size = TypeVar("Size", int, float)


@dataclass(frozen=True)
class Scale:
    """Chooses between the sizes of the full form and those of the short one."""

    is_short: bool

    def pick(self, full: Size, short: Size) -> Size:
        return short if self.is_short else full


def load_nothing(_: Connection) -> None:
    pass


@dataclass(frozen=True)
class Abuse:
    """One row. `roles` is called once the data is loaded, as a role may need a cursor of then.

    `seconds` is how long this abuse needs to show, `writes_large` adds large writes to what the bystander does, and
    `connects_anew` is false where there are no connections left to be had.
    """

    roles: Callable[[Connection], list[Role]]
    load: Callable[[Connection], None] = load_nothing
    options: dict[str, Any] = field(default_factory=dict)
    open_files: int | None = None
    seconds: float = 0
    writes_large: bool = False
    connects_anew: bool = True


Build = Callable[[Scale], Abuse]


def name(build: Build) -> str:
    """The name of a row: that of the function which builds it."""
    return build.__name__.replace("_", "-")


def summary(build: Build) -> str:
    return (build.__doc__ or "").splitlines()[0]
