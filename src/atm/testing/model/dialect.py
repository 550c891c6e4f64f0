"""What a vendor's protocol has to know: which paths are its own, how to read a request, how to write an answer."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple
from uuid import uuid4

from atm.testing.model.answers import ModelAnswer, ModelFault
from atm.testing.model.requests import Conversation

Body = Mapping[str, Any]
Json = dict[str, Any]

INPUT_TOKENS, OUTPUT_TOKENS = 100, 10
"""What every answer says that it cost."""
WORDS_AT_ONCE = 24
"""Characters in one event of a stream: few, so that programs have to put texts together."""


class Dialect(NamedTuple):
    """One protocol. The functions are pure; the server does the talking."""

    name: str
    endings: tuple[str, ...]
    """How its paths end, without the query."""
    read: Callable[[str, Body], Conversation]
    whole: Callable[[Body, ModelAnswer], Json]
    """An answer in one piece."""
    events: Callable[[Body, ModelAnswer], list[str]]
    """The same as a stream of server-sent events, each ready to be sent."""
    refusal: Callable[[ModelFault], Json]
    counting: tuple[str, ...] = ()
    """How the paths end that count tokens."""
    counted: Callable[[], Json] = dict


def event(data: Json | str, name: str = "") -> str:
    """A server-sent event."""
    text = data if isinstance(data, str) else json.dumps(data)
    return (f"event: {name}\n" if name else "") + f"data: {text}\n\n"


def fresh(prefix: str) -> str:
    """An identifier that nobody has had."""
    return prefix + uuid4().hex[:20]


def in_bits(text: str) -> list[str]:
    """A text as a stream would bring it."""
    return [text[at : at + WORDS_AT_ONCE] for at in range(0, len(text), WORDS_AT_ONCE)]
