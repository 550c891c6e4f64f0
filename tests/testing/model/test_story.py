"""Stories: which line answers which request."""

from __future__ import annotations

import contextlib
import http.client
import threading
import time

import pytest
from tests.testing.model.conftest import Caller

from atm.testing.model import ScriptedModel, Story, hears, offered, seen_by, sees


def words(answer):
    return answer.json["content"][0].get("text")


@pytest.fixture
def bob(model):
    return Caller(model, "anthropic")


def test_lines_are_told_in_their_order_and_then_the_last_word_stays(model, bob):
    story = model.story("bob")
    story.first().says("one")
    story.then().says("two")
    story.otherwise().says("done")
    assert [words(bob("go on")) for _ in range(4)] == ["one", "two", "done", "done"]
    assert story.untold == []


def test_a_condition_waits_for_what_the_request_holds(model, bob):
    story = model.story("bob")
    story.when(sees("mail from ann")).says("hello ann")
    story.otherwise().says("working")
    assert words(bob("begin")) == "working"
    assert story.untold == ["sees 'mail from ann'"]
    assert words(bob("begin", "working", "mail from ann")) == "hello ann"
    assert words(bob("begin", "working", "mail from ann")) == "working"


def test_what_was_heard_before_the_last_answer_is_no_news(model, bob):
    story = model.story("bob")
    story.whenever(hears("again")).says("yes")
    story.otherwise().says("no")
    assert words(bob("again")) == "yes"
    assert words(bob("again", "yes", "something else")) == "no"
    assert words(bob("again", "yes", "again")) == "yes"


def test_the_model_does_not_hear_itself(model, bob):
    model.story("bob").whenever(sees("secret")).says("caught")
    assert words(bob("begin", "my secret", "go on")) == "ok."


def test_conditions_are_put_together(model, bob):
    story = model.story("bob")
    story.when((sees("a") & sees("b")) | ~offered("Bash")).says("fits")
    story.otherwise().says("does not")
    assert words(bob("a")) == "does not"
    assert words(bob("a", "x", "b")) == "fits"


def test_the_first_line_is_for_the_first_request_alone(model, bob):
    story = model.story("bob")
    story.when(sees("x")).says("seen")
    story.first().says("first")
    assert [words(bob("x")), words(bob("y"))] == ["seen", "ok."]
    assert story.untold == ["first"]


def test_everybody_has_a_story_of_their_own(model):
    bob, ann = Caller(model, "anthropic"), Caller(model, "anthropic", "ann")
    model.story("bob").first().says("I am bob")
    model.story("ann").first().says("I am ann")
    assert (words(ann("who?")), words(bob("who?"))) == ("I am ann", "I am bob")
    assert [request.agent for request in model.requests] == ["ann", "bob"]


def test_stories_can_be_written_before_there_is_a_model():
    story = Story("bob")
    story.first().says("hello")
    with ScriptedModel(story) as model:
        assert words(Caller(model, "anthropic")("begin")) == "hello"


def test_an_answer_can_take_its_time(model, bob):
    model.story("bob").first().after(0.3).says("slow")
    started = time.monotonic()
    assert words(bob("begin")) == "slow"
    assert time.monotonic() - started >= 0.3


def test_an_answer_waits_for_the_test(model, bob):
    go, answers = threading.Event(), []
    model.story("bob").first().waits_for(go).says("at last")
    thread = threading.Thread(target=lambda: answers.append(words(bob("begin"))))
    thread.start()
    seen_by(model, "bob").asks(1, within=20)
    assert answers == []
    go.set()
    thread.join(20)
    assert answers == ["at last"]


def test_a_model_that_closes_does_not_wait_for_what_will_not_come():
    def asks() -> None:
        with contextlib.suppress(OSError, http.client.HTTPException):  # it may be hung up on
            Caller(model, "anthropic")("begin")

    with ScriptedModel() as model:
        model.story("bob").first().waits_for(threading.Event()).says("never")
        thread = threading.Thread(target=asks)
        thread.start()
        seen_by(model, "bob").asks(1, within=20)
    thread.join(20)
    assert not thread.is_alive()
