"""`atm plugins new`: a package with a small plugin that works, its test, and how to go on."""

from __future__ import annotations

import os

from atm.core.errors import RequestError, WriteRefused
from atm.core.untrusted_text import one_line, shell_word, shell_words
from atm.teamd.plugins.discovery import check_name
from atm.ui.cli.plugins.template import FILES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.ui.cli.arguments import Args
    from atm.ui.cli.session import Session


def _new(args: Args, session: Session) -> int:
    name = _checked(args.need("name"))
    into = os.path.abspath(os.path.expanduser(args.text("into") or "."))
    folder = f"{into}/atm-{name}".replace(os.sep, "/")
    files = write_package(folder, name)
    result: dict[str, object] = {"action": "plugins new", "plugin": name, "folder": folder, "files": files}
    lines = [f"wrote {folder}:", *(f"  {file}" for file in files)]
    lines += ["", f"try it:  cd {shell_word(folder)} && python -m pytest", "then:    python -m pip install -e ."]
    session.tell(
        result, "\n".join(one_line(line) for line in [*lines, f"         atm plugins enable {shell_words(name)}"])
    )
    return 0


def _checked(name: str) -> str:
    problem = check_name(name)
    if not problem and ("_" in name or not name[0].isalpha()):
        problem = "a package needs a name that begins with a letter and has no '_'"
    if problem:
        raise RequestError(problem, "use a-z, 0-9 and -")
    return name


def write_package(folder: str, name: str) -> list[str]:
    """Write all files into a folder that does not exist yet, or is empty; their names."""
    words = {"@NAME@": name, "@MODULE@": f"atm_{name.replace('-', '_')}"}
    try:
        os.makedirs(folder, exist_ok=True)
        if os.listdir(folder):
            raise RequestError(f"{folder} is there already, and not empty", "choose another name, or --into")
        return [_write(folder, _filled(path, words), _filled(text, words)) for path, text in FILES.items()]
    except OSError as error:
        raise WriteRefused(f"{folder}: {error.strerror}", "choose another folder with --into", folder) from None


def _write(folder: str, path: str, text: str) -> str:
    os.makedirs(os.path.dirname(f"{folder}/{path}"), exist_ok=True)
    with open(f"{folder}/{path}", "x", encoding="utf-8") as file:
        file.write(text)
    return path


def _filled(text: str, words: dict[str, str]) -> str:
    for mark, word in words.items():
        text = text.replace(mark, word)
    return text


VERBS = {"plugins new": _new}
