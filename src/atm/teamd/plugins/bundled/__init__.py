"""Plugins that come with atm."""
