"""One key of a settings file set, or taken out; comments and everything else in it stay."""

from __future__ import annotations

from atm.core.errors import BadSetting

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from atm.files.formats.settings_text import Value


def _path_of(key: str) -> list[str]:
    """`plugins.webhook.url` lies in a table of its own; an alias may have a dot in its name."""
    section, _, name = key.partition(".")
    if section != "plugins" or "." not in name:
        return [section, name]
    plugin, _, inner = name.partition(".")
    return [section, plugin, inner]


def with_setting(text: str, path: str, key: str, value: Value) -> str:
    """The file's text with one key set; comments and everything else stay."""
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    *sections, name = _path_of(key)
    try:
        document = tomlkit.parse(text)
        inner: Any = document
        for section in sections:
            inner = inner.setdefault(section, tomlkit.table())
        inner[name] = value
        return tomlkit.dumps(document)
    except TOMLKitError as error:
        raise BadSetting(f"{path}: {error}", "mend the file by hand", path) from None


def without_setting(text: str, path: str, key: str) -> str:
    """The same without a key that is there."""
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    *sections, name = _path_of(key)
    try:
        document = tomlkit.parse(text)
        inner: Any = document
        for section in sections:
            inner = inner[section]
        del inner[name]
        return tomlkit.dumps(document)
    except (TOMLKitError, KeyError) as error:
        raise BadSetting(f"{path}: {error}", "mend the file by hand", path) from None
