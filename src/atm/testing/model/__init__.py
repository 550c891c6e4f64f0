"""
A scripted model: the vendors' real programs against a server on loopback, without network, account or tokens.

    from atm.testing.model import ScriptedModel, seen_by, sees

    with ScriptedModel() as model:
        story = model.story("bob")
        story.first().runs("Bash", command="pytest -q")
        story.when(sees("mail from ann")).says("ann, the tests pass")
        ...  # run Claude Code with ANTHROPIC_BASE_URL=model.address("bob")
        sighting = seen_by(model, "bob").once("mail from ann")
        assert sighting.role == "user" and "teammate-message" in sighting.frame

It speaks Anthropic's messages, OpenAI's responses and chat completions, and Gemini's generateContent, whole and as a
stream. Only the standard library is used.
"""

from __future__ import annotations

from atm.testing.model.answers import ToolCall
from atm.testing.model.requests import ModelRequest, Piece
from atm.testing.model.server import ScriptedModel
from atm.testing.model.sightings import SeenBy, Sighting, seen_by
from atm.testing.model.story import Story, When, hears, offered, sees

__all__ = [
    "ModelRequest",
    "Piece",
    "ScriptedModel",
    "SeenBy",
    "Sighting",
    "Story",
    "ToolCall",
    "When",
    "hears",
    "offered",
    "seen_by",
    "sees",
]
