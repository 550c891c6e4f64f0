"""Every error that a user can meet: it says what, what next and where, and survives a process boundary."""

from __future__ import annotations

import copy
import inspect
import pickle
from pathlib import Path

import pytest
from tests.proving import proves

from atm.core import errors, work_errors
from atm.core.errors import AtmError, DiskError, RequestError

PAGES = Path(__file__).parent.parent.parent / "docs" / "errors"


def _family(root: type[AtmError]) -> list[type[AtmError]]:
    return [root, *(error for child in root.__subclasses__() for error in _family(child))]


EVERY = [error for error in _family(AtmError) if error.__module__ in (errors.__name__, work_errors.__name__)]


@proves("R001-8.2-01")
def test_each_carries_what_happened_what_to_do_and_where():
    for error in EVERY:
        raised = error("it broke", "mend it", "/a/b")
        assert str(raised) == "it broke", error
        assert (raised.what, raised.remedy, raised.path) == ("it broke", "mend it", "/a/b"), error


def test_remedy_and_path_may_be_unknown():
    assert {(raised.remedy, raised.path) for raised in (error("it broke") for error in EVERY)} == {("", "")}


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_each_survives_pickling(protocol):
    for error in EVERY:
        back = pickle.loads(pickle.dumps(error("it broke", "mend it", "/a/b"), protocol))
        assert type(back) is error
        assert (back.what, back.remedy, back.path, str(back)) == ("it broke", "mend it", "/a/b", "it broke"), error


def test_each_survives_copying():
    for error in EVERY:
        back = copy.deepcopy(error("it broke", "mend it", "/a/b"))
        assert (type(back), back.what, back.remedy, back.path) == (error, "it broke", "mend it", "/a/b")


def test_codes_are_unique():
    codes = [error.code for error in EVERY]
    assert len(set(codes)) == len(codes)


def test_every_class_has_a_code_of_its_own():
    assert [error.__name__ for error in EVERY if "code" not in vars(error)] == []


@proves("R001-8.2-01")
def test_every_error_belongs_to_one_of_the_two_families():
    families = [error for error in EVERY if error is not AtmError]
    assert len(families) > 10
    for error in families:
        assert issubclass(error, RequestError) != issubclass(error, DiskError)


def test_every_public_class_of_the_module_is_in_the_tree():
    public = {found for one in (errors, work_errors) for _, found in inspect.getmembers(one, inspect.isclass)}
    assert public == set(EVERY)


def test_the_tree_at_the_top_of_the_module_names_every_class():
    drawn = set((errors.__doc__ or "").replace("│", " ").replace("├──", " ").replace("└──", " ").split())
    assert [error.__name__ for error in EVERY if error.__name__ not in drawn] == []


def test_each_says_in_a_sentence_what_it_means():
    assert [error for error in EVERY if not error.__doc__ or error.__doc__ == error.__base__.__doc__] == []


@proves("R001-8.2-04")
def test_each_has_a_page_in_the_docs():
    assert [error.code for error in EVERY if not (PAGES / f"{error.code}.md").is_file()] == []
