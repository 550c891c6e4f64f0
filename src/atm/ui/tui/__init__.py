"""
The screen: `atm top`. Thin over the snapshot (D28): what is seen is drawn by pure functions, and what is done is done
by the command that the screen shows.
"""
