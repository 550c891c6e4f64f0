"""Where plugins imported their contract from before 0.1.0; it is `atm.teamd.plugins.api` now."""

from atm.teamd.plugins.api import *  # noqa: F403 - a face: whatever the contract offers
