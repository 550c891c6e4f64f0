"""Plugins that come with atm, one file each. They import what every plugin may: `api`."""
