"""Two that send at once, and messages that lie in another order: every reader sees one order, and each says it all."""

from __future__ import annotations

import json

from tests.proving import proves


def shown_to(crew, name):
    """What anybody who looks sees, and nothing is marked."""
    return crew("read", name, "--no-mark", "--json").json["messages"]


@proves("R000-ordering-01")
def test_two_children_that_finish_at_once_reach_the_parent_in_one_order_for_every_reader(crew):
    rounds = [
        [crew.start("send", "ann", f"{child} {n}", "--from", child) for child in ("bob", "cat")] for n in range(4)
    ]
    for pair in rounds:
        for process in pair:
            process.communicate(timeout=180)
            assert process.returncode == 0
    first, second = (shown_to(crew, "ann") for _ in range(2))
    assert first == second
    assert [message["text"] for message in first] == [row["text"] for row in crew.rows("ann")]
    assert len({message["text"] for message in first}) == 8
    numbers = [line["seq"] for line in crew.ledger()]
    assert numbers == sorted(set(numbers)), "and the ledger has one order, without a tie"


@proves("R000-ordering-02")
def test_a_message_says_the_same_wherever_it_lies(crew):
    crew("send", "ann", "Which port?", "--from", "bob")
    crew("send", "ann", "The parser is done.", "--from", "bob")
    crew("send", "ann", "It was the lexer.", "--from", "cat")
    before = {message["message_id"]: message for message in shown_to(crew, "ann")}
    crew.inbox("ann").write_text(json.dumps(crew.rows("ann")[::-1]))
    after = shown_to(crew, "ann")
    assert [message["text"] for message in after] == ["It was the lexer.", "The parser is done.", "Which port?"]
    assert {message["message_id"]: message for message in after} == before
