"""Where tests of plugins imported the kit from before 0.1.0; it is `atm.teamd.plugins.kit` now."""

from atm.teamd.plugins.kit import *  # noqa: F403 - a face: whatever the kit offers
