"""The surfaces: parse, call one service, render."""
