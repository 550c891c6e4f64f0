"""Messages of programs are sentences on every list for people, never raw JSON."""

from __future__ import annotations

from atm.ui.views.letters import SENTENCES, in_one_line, in_words


def test_no_kind_that_has_a_sentence_shows_its_json():
    for kind in SENTENCES:
        text = f'{{"type": "{kind}", "task_id": "7", "subject": "the parser", "reason": "late", "message": "x"}}'
        for said in (in_words(text), in_one_line(text)):
            assert "{" not in said, kind
            assert '"type"' not in said


def test_what_a_member_wrote_stays_as_it_is():
    assert in_words("one\ntwo {x}") == "one\ntwo {x}"
    assert in_words('{"type": "anything"}') == '{"type": "anything"}'


def test_a_hostile_field_cannot_draw_over_a_list():
    text = '{"type": "shutdown_request", "reason": "\\u001b[2Jgone\\u202e"}'
    assert "\x1b" not in in_words(text) + in_one_line(text)
    assert "\u202e" not in in_words(text) + in_one_line(text)
