"""Cannot be imported."""

from __future__ import annotations

import no_such_module_anywhere  # type: ignore[import-not-found]  # noqa: F401
