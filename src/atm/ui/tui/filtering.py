"""What `/` leaves: words, `s:` a state, `a:` an agent. All of them must fit."""

from __future__ import annotations


def fits(filter: str, state: str, agent: str, said: str) -> bool:
    for word in filter.casefold().split():
        if word.startswith("s:"):
            if not state.casefold().startswith(word[2:]):
                return False
        elif word.startswith("a:"):
            if word[2:] not in agent.casefold():
                return False
        elif word not in said.casefold():
            return False
    return True
