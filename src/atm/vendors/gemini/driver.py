"""Gemini CLI over ACP (`gemini --acp`), with what is its own."""

from __future__ import annotations

import glob
import os
import time

from atm.vendors.drivers.acp import AcpDriver


def began_this_minute(session: str) -> bool:
    """
    Would Gemini CLI lose this conversation? It names transcripts by the minute and the session, and one that is loaded
    in the minute in which it began is begun anew over what was said (seen with 0.61.0).
    """
    minute = time.strftime("%Y-%m-%dT%H-%M", time.gmtime())
    place = os.path.expanduser("~/.gemini/tmp/*/chats")
    return bool(glob.glob(f"{place}/session-{minute}-{glob.escape(session[:8])}.jsonl"))


class GeminiDriver(AcpDriver):
    """See `began_this_minute`."""

    def why_not_load(self, session: str) -> str:
        if began_this_minute(session):
            return "its conversation began in this very minute, and it would write over it: try again in a minute"
        return ""
