"""The rows of the report, with the requirement of each row, and the table of all rows."""

import operator
import statistics
from dataclasses import dataclass

from .bench import values_of


@dataclass(frozen=True)
class Required:
    """A limit for the ratio of a row or, if the row has no other server, for the figure of the daemon."""

    sign: str
    bound: float

    def is_met_by(self, value):
        return {">=": operator.ge, "<=": operator.le}[self.sign](value, self.bound)


@dataclass(frozen=True)
class Row:
    """One line of the report. All members except `is_met` are text. A cost is the processor time per request."""

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
    """Returns a row that compares the medians of two lists of figures, one figure for each round. `show` formats a figure."""
    our_median, peer_median = statistics.median(ours), statistics.median(peer)
    ratio = our_median / peer_median
    return Row(title, show(our_median), f"{peer_name} {show(peer_median)}", f"{ratio:.2f}x",
               f"{required.sign} {required.bound:g}x", required.is_met_by(ratio), remark, *costs)


def compared_loads(title, show, figure, ours, peer, peer_name, required, remark=""):
    """Returns a row that compares the member `figure` (such as `p50`) of two lists of `Load`, and that also has their processor
    time per request."""
    return compared(title, show, values_of(ours, figure), values_of(peer, figure), peer_name, required, remark,
                    (cost(ours), cost(peer)))


def cost(loads):
    """Returns the median user and system time of the server per request, in microseconds, as text."""
    return " + ".join(f"{statistics.median(values_of(loads, figure)):.1f}" for figure in ("user", "system"))


def absolute(title, show, figures, required, remark=""):
    """Returns a row with the median of `figures` of the daemon, without another server."""
    median = statistics.median(figures)
    return Row(title, show(median), "", "", f"{required.sign} {show(required.bound)}", required.is_met_by(median), remark)


def table(rows):
    """Returns the rows as a text table. The remarks follow the table, each after the title of its row."""
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


def microseconds_with_tenths(value):
    return f"{value:.1f} us"


def milliseconds(seconds):
    return f"{seconds * 1e3:.1f} ms"


def percent(share):
    return f"{share * 100:.2f} %"


def kilobytes(byte_count):
    return f"{byte_count / 1e3:.1f} KB"


def megabytes(byte_count):
    return f"{byte_count / 1e6:.1f} MB"


def megabytes_per_second(bytes_per_second):
    return f"{bytes_per_second / 1e6:,.0f} MB/s"
