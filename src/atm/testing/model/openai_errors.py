"""How both protocols of OpenAI say no."""

from __future__ import annotations

from atm.testing.model.answers import ModelFault
from atm.testing.model.dialect import Json


def refusal(fault: ModelFault) -> Json:
    kind = "server_error" if fault.status >= 500 else "invalid_request_error"
    kind = "rate_limit_exceeded" if fault.status == 429 else kind
    return {"error": {"message": fault.message, "type": kind, "code": kind, "param": None}}
