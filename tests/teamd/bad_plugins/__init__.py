"""Plugins for the tests of the host: each is bad in one way, some are good. They run in processes of their own."""
