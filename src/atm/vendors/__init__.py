"""What atm knows of the vendors' programs: hooks, payloads, settings, panes, drivers, versions."""
