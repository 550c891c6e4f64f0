"""Write docs/reference/web-api.json: the OpenAPI description of the page's API."""

from __future__ import annotations

import json
from pathlib import Path

from atm.ui.web.endpoints import openapi

PAGE = Path(__file__).parent / "reference" / "web-api.json"


def text() -> str:
    return json.dumps(openapi(), indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    PAGE.write_text(text(), encoding="utf-8")
