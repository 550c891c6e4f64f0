"""The daemon: seat, control line, log, telemetry, service units."""
