"""Any program: started as it is, and spoken to by nobody."""

from __future__ import annotations

from atm.vendors.runtime import PLAIN, Runtime
from atm.vendors.vendor import Vendor

RUNTIME = Runtime(
    "command",
    protocol=PLAIN,
    driver="atm.vendors.drivers.plain:PlainDriver",
    remarks=("any program: `command` in the crew file or settings, or the prompt; otherwise your shell",),
)
VENDOR = Vendor("command", "a script", letters="SH", aliases=("shell",), thinks=False, runtime=RUNTIME)
