"""What was measured against what was required, as a table."""

import operator
import statistics
from dataclasses import dataclass

from .bench import each


@dataclass(frozen=True)
class Required:
    """A bound on a row's ratio or, where there is no peer, on our own figure."""

    sign: str
    bound: float

    def holds(self, value):
        return {">=": operator.ge, "<=": operator.le}[self.sign](value, self.bound)


@dataclass(frozen=True)
class Row:
    """One line of the report, judged already; the other members are text to show. Costs are processor time a request."""

    title: str
    ours: str
    peer: str
    ratio: str
    required: str
    is_met: bool
    remark: str
    our_cost: str = ""
    peer_cost: str = ""

    def cells(self):
        return [self.title, self.ours, self.our_cost, self.peer, self.peer_cost, self.ratio, self.required,
                "ok" if self.is_met else "MISSED"]


HEADINGS = ["", "settingsd", "user + system", "compared with", "user + system", "ratio", "required", ""]
LEFT_ALIGNED = (0, 3, 7)


def compared(title, show, ours, peer, peer_name, required, remark="", costs=("", "")):
    """A row about the medians of two series that were measured in alternating rounds; `show` renders one figure."""
    our_median, peer_median = statistics.median(ours), statistics.median(peer)
    ratio = our_median / peer_median
    return Row(title, show(our_median), f"{peer_name} {show(peer_median)}", f"{ratio:.2f}x",
               f"{required.sign} {required.bound:g}x", required.holds(ratio), remark, *costs)


def compared_loads(title, show, figure, ours, peer, peer_name, required, remark=""):
    """A row about one figure of two series of loads, such as `p50`, and what a request of each costs its server."""
    return compared(title, show, each(ours, figure), each(peer, figure), peer_name, required, remark,
                    (cost(ours), cost(peer)))


def cost(loads):
    """Microseconds of user and system time that the server takes a request, as text: medians."""
    return " + ".join(f"{statistics.median(each(loads, figure)):.1f}" for figure in ("user", "system"))


def absolute(title, show, figures, required, remark=""):
    """A row about a figure of ours alone: the median of `figures`."""
    median = statistics.median(figures)
    return Row(title, show(median), "", "", f"{required.sign} {show(required.bound)}", required.holds(median), remark)


def table(rows):
    """The rows as aligned text; remarks stand below, each under its row's title."""
    cells = [HEADINGS, *(row.cells() for row in rows)]
    widths = [max(len(line[column]) for line in cells) for column in range(len(HEADINGS))]
    lines = []
    for line in cells:
        columns = [text.ljust(width) if column in LEFT_ALIGNED else text.rjust(width)
                   for column, (text, width) in enumerate(zip(line, widths))]
        lines.append("  ".join(columns).rstrip())
    lines.insert(1, "-" * max(len(line) for line in lines))
    remarks = [f"{row.title}: {row.remark}" for row in rows if row.remark]
    return "\n".join([*lines, *([""] if remarks else []), *remarks])


def per_second(value):
    return f"{value:,.0f}/s"


def nanoseconds(value):
    return f"{value:,.0f} ns"


def microseconds(value):
    return f"{value:,.0f} us"


def tenths_of_microseconds(value):
    return f"{value:.1f} us"


def milliseconds(seconds):
    return f"{seconds * 1e3:.1f} ms"


def percent(share):
    return f"{share * 100:.2f} %"


def kilobytes(value):
    return f"{value / 1e3:.1f} KB"


def megabytes(value):
    return f"{value / 1e6:.1f} MB"


def megabytes_per_second(value):
    return f"{value / 1e6:,.0f} MB/s"
