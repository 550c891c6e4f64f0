"""
The repository of `atm demo`: a till that is not written yet, and a plan of thirteen tasks that write it.

Two of them change the same line, and are put together by a script; two are right alone and wrong together, which only
the tests of the merged branch show.

No model takes part, so what an agent would think of lies ready in `work/`; everything after that is real: commands,
tests, commits, branches.
"""

from __future__ import annotations

TEAM = "till"
AGENTS = ("wren", "rook", "kite", "tern")
CRASH_MARK = "DEMO_CRASHED"
"""The variable that names a folder which does not exist until the first crash."""

BEGUN_MARK = "DEMO_BEGUN"
"""
The variable that says how the names of files begin that say which task has begun. What is to meet another's work begins
before that is there, and ends after it: so they meet on the slowest machine, too.
"""

PLANNED = "Work the tax out"
"""The task that is planned first."""

CREW = f'team = "{TEAM}"\n' + "".join(f'\n[[agents]]\nname = "{name}"\nruntime = "script"\n' for name in AGENTS)

TESTED = "(run: cp -r work/{0}/. .) (accept: python -m unittest -q tests.test_{0})"
CRASHING = TESTED.replace("cp ", f'mkdir "${CRASH_MARK}" 2>/dev/null && kill -9 $PPID; cp ')
"""
The first time it takes its agent down, as a crash would; what it wrote by then is saved. It comes first in the plan,
and so to the first agent of the crew, who is given whatever can be begun next, and is started again for it.
"""

RENAMES = "Say as_text for shown, everywhere"
"""Begins when nobody else uses the word, and ends when somebody does."""

SETTINGS = """\
[merges]
check = "python -m unittest -q"
at_once = 3
resolve_command = "python work/both.py"
"""
"""What a person would put into their own settings."""

PLAN = f"""\
# A till

- [ ] Read the catalogue (id: catalog) {CRASHING.format("catalog")}
- [ ] Manual: prices (id: manual-prices) (run: python work/tell.py "Prices are in cents." \
&& python work/meet.py prices free MANUAL.md) (accept: grep -q cents MANUAL.md)
- [ ] Manual: deals (id: manual-deals) (run: python work/wait.py prices \
&& python work/tell.py "Every third of a kind is free.") (accept: grep -q free MANUAL.md)
- [ ] Count money in cents (id: money) {TESTED.format("money")}
- [ ] Count what is in a basket (id: basket) {TESTED.format("basket")}
- [ ] Three for the price of two (id: deals) {TESTED.format("deals")}
- [ ] Add a basket up (id: total) (depends: money, catalog, basket, deals) {TESTED.format("total")}
- [ ] {PLANNED} (id: tax) (plan: required) {TESTED.format("tax")}
- [ ] {RENAMES} (id: rename) (depends: money, catalog) (run: python work/rename.py \
&& python work/meet.py rename find till/search.py) (accept: python -m unittest -q)
- [ ] Find articles by a part of their name (id: search) (depends: money, catalog) \
{TESTED.format("search").replace("(run: ", "(run: python work/wait.py rename && ")}
- [ ] Print the bill (id: bill) (depends: total, tax, rename) {TESTED.format("bill")}
- [ ] A command to type (id: command) (depends: total, rename) {TESTED.format("command")}
- [ ] Release 1.0 (id: release) (depends: bill, command, search, rename, manual-prices, manual-deals) \
(run: atm approvals ask --tool release --command "release till 1.0" --task $ATM_TASK --wait 120 && echo 1.0 > VERSION) \
(accept: python -m unittest -q)
"""

_MANUAL = """\
# The till

## Prices

To be written.

## Baskets

One article a line.
"""

_TELL = """\
import pathlib
import sys

manual = pathlib.Path("MANUAL.md")
manual.write_text(manual.read_text().replace("To be written.", sys.argv[1]))
"""

_BOTH = """\
# Resolves conflicts: both sides stay, one after the other.
import os
import pathlib

for name in os.environ["ATM_CONFLICTS"].splitlines():
    lines = pathlib.Path(name).read_text().splitlines(keepends=True)
    kept = [line for line in lines if not line.startswith(("<<<<<<<", "=======", ">>>>>>>"))]
    pathlib.Path(name).write_text("".join(kept))
"""

_RENAME = """\
import pathlib
import re

for folder in ("till", "tests"):
    for path in sorted(pathlib.Path(folder).glob("*.py")):
        path.write_text(re.sub(r"\\bshown\\b", "as_text", path.read_text()))
"""

_MEET = """\
# Says that a task has begun, and waits until another's word is in a file of the result.
import os
import pathlib
import subprocess
import sys
import time

begun, word, file = sys.argv[1:]
pathlib.Path(os.environ["DEMO_BEGUN"] + begun).touch()
while subprocess.run(["git", "grep", "-q", word, "atm/result/till", "--", file], capture_output=True).returncode != 0:
    time.sleep(0.1)
"""

_WAIT = """\
# Waits until a task has begun.
import os
import pathlib
import sys
import time

while not pathlib.Path(os.environ["DEMO_BEGUN"] + sys.argv[1]).exists():
    time.sleep(0.1)
"""

_MONEY = '''\
"""Prices in whole cents: floats lose money."""


def cents(text):
    whole, _, part = text.strip().partition(".")
    return int(whole) * 100 + int((part + "00")[:2])


def shown(amount):
    return f"{amount // 100}.{amount % 100:02}"
'''

_TEST_MONEY = """\
import unittest

from till.money import cents, shown


class Money(unittest.TestCase):
    def test_there_and_back(self):
        for text in ("0.00", "0.05", "3.50", "19.99"):
            self.assertEqual(shown(cents(text)), text)

    def test_a_price_without_cents(self):
        self.assertEqual(cents("7"), 700)
"""

_CATALOG = '''\
"""What is sold: an article a line, `tea 2.50`."""


def read(text):
    return dict(line.rsplit(" ", 1) for line in text.splitlines() if line.strip())
'''

_TEST_CATALOG = """\
import unittest

from till.catalog import read


class Catalog(unittest.TestCase):
    def test_names_may_have_blanks(self):
        self.assertEqual(read("green tea 2.50\\n\\nrice 1.20\\n"), {"green tea": "2.50", "rice": "1.20"})
"""

_BASKET = '''\
"""What somebody buys."""

from collections import Counter


def basket(text):
    return Counter(line.strip() for line in text.splitlines() if line.strip())
'''

_TEST_BASKET = """\
import unittest

from till.basket import basket


class Basket(unittest.TestCase):
    def test_the_same_article_twice(self):
        self.assertEqual(basket("tea\\nrice\\ntea\\n"), {"tea": 2, "rice": 1})
"""

_DEALS = '''\
"""Three for the price of two."""


def paid(count):
    return count - count // 3
'''

_TEST_DEALS = """\
import unittest

from till.deals import paid


class Deals(unittest.TestCase):
    def test_every_third_is_free(self):
        self.assertEqual([paid(count) for count in range(7)], [0, 1, 2, 2, 3, 4, 4])
"""

_TOTAL = '''\
"""What a basket costs, in cents."""

from till.deals import paid
from till.money import cents


def total(basket, catalog):
    return sum(paid(count) * cents(catalog[name]) for name, count in basket.items())
'''

_TEST_TOTAL = """\
import unittest

from till.basket import basket
from till.catalog import read
from till.total import total


class Total(unittest.TestCase):
    def test_with_a_deal(self):
        self.assertEqual(total(basket("tea\\ntea\\ntea\\nrice"), read("tea 2.50\\nrice 1.20")), 620)
"""

_TAX = '''\
"""The tax that is in a price."""


def tax(amount, percent=19):
    return round(amount * percent / (100 + percent))
'''

_TEST_TAX = """\
import unittest

from till.tax import tax


class Tax(unittest.TestCase):
    def test_it_is_part_of_the_price(self):
        self.assertEqual([tax(119), tax(0), tax(107, percent=7)], [19, 0, 7])
"""

_SEARCH = '''\
"""Finding articles."""

from till.money import cents, shown


def find(catalog, part):
    return [f"{name} {shown(cents(catalog[name]))}" for name in sorted(catalog) if part.lower() in name.lower()]
'''

_TEST_SEARCH = """\
import unittest

from till.catalog import read
from till.search import find


class Search(unittest.TestCase):
    def test_upper_and_lower_case(self):
        catalog = read("Green tea 2.50\\nrice 1.20\\ntea pot 9")
        self.assertEqual(find(catalog, "tea"), ["Green tea 2.50", "tea pot 9.00"])
"""

_BILL = '''\
"""The bill, for people."""

from till.money import as_text
from till.tax import tax
from till.total import total


def bill(basket, catalog):
    due = total(basket, catalog)
    lines = [f"{count} x {name}" for name, count in sorted(basket.items())]
    return "\\n".join([*lines, f"total {as_text(due)}", f"tax   {as_text(tax(due))}"])
'''

_TEST_BILL = """\
import unittest

from till.basket import basket
from till.bill import bill
from till.catalog import read


class Bill(unittest.TestCase):
    def test_it_ends_with_the_tax(self):
        self.assertEqual(bill(basket("tea\\ntea"), read("tea 1.19")), "2 x tea\\ntotal 2.38\\ntax   0.38")
"""

_COMMAND = '''\
"""`python -m till CATALOGUE BASKET`: what it costs."""

import sys

from till.basket import basket
from till.catalog import read
from till.money import as_text
from till.total import total


def main(catalogue, bought):
    with open(catalogue) as prices, open(bought) as articles:
        return as_text(total(basket(articles.read()), read(prices.read())))


if __name__ == "__main__":
    print(main(*sys.argv[1:3]))
'''

_TEST_COMMAND = """\
import pathlib
import subprocess
import sys
import tempfile
import unittest


class Typed(unittest.TestCase):
    def test_it_prints_the_total(self):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            (folder / "prices").write_text("tea 2.50")
            (folder / "basket").write_text("tea\\ntea")
            words = [sys.executable, "-m", "till", str(folder / "prices"), str(folder / "basket")]
            self.assertEqual(subprocess.check_output(words, text=True), "5.00\\n")
"""


def _piece(name: str, code: str, test: str, file: str = "") -> dict[str, str]:
    return {f"work/{name}/till/{file or name}.py": code, f"work/{name}/tests/test_{name}.py": test}


FILES: dict[str, str] = {
    "plan.md": PLAN,
    "crew.toml": CREW,
    ".gitignore": "__pycache__/\n",
    "MANUAL.md": _MANUAL,
    "till/__init__.py": '"""A till."""\n',
    "tests/__init__.py": "",
    "work/tell.py": _TELL,
    "work/both.py": _BOTH,
    "work/rename.py": _RENAME,
    "work/meet.py": _MEET,
    "work/wait.py": _WAIT,
    **_piece("money", _MONEY, _TEST_MONEY),
    **_piece("catalog", _CATALOG, _TEST_CATALOG),
    **_piece("basket", _BASKET, _TEST_BASKET),
    **_piece("deals", _DEALS, _TEST_DEALS),
    **_piece("total", _TOTAL, _TEST_TOTAL),
    **_piece("tax", _TAX, _TEST_TAX),
    **_piece("search", _SEARCH, _TEST_SEARCH),
    **_piece("bill", _BILL, _TEST_BILL),
    **_piece("command", _COMMAND, _TEST_COMMAND, "__main__"),
}
