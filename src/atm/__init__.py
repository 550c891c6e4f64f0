"""
atm, the agent team manager: mail, and later tasks and sessions, for teams of coding agents.

Importing this package loads nothing else: `atm send` pays for every import it makes.
"""

__all__ = ["__version__"]

__version__ = "0.1.0"
