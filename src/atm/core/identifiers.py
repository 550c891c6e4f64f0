"""Ids that follow from what they stand for, so that a process that was killed cannot make the same thing twice."""

from __future__ import annotations


def derived_id(*parts: str) -> str:
    """The same id for the same parts, however often it is made; another one for any others."""
    import hashlib

    told = "".join(f"{len(part)}:{part}" for part in parts)  # "a", "bc" and "ab", "c" are two things
    digits = hashlib.sha256(told.encode("utf-8", "surrogatepass")).hexdigest()
    return f"{digits[:8]}-{digits[8:12]}-5{digits[13:16]}-8{digits[17:20]}-{digits[20:32]}"


def id_of_key(key: object) -> str:
    """An id for a row of an inbox that may have none: from its key, which is a text or a tuple of texts."""
    return derived_id(*key) if isinstance(key, tuple) else derived_id(str(key))
