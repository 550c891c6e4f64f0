"""Generated cases without a stopwatch."""

from __future__ import annotations

from hypothesis import settings

# A slow machine is no bug: examples have no deadline.
settings.register_profile("atm", settings.default, deadline=None)
settings.load_profile("atm")
