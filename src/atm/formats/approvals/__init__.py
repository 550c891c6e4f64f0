"""Approvals as bytes: rules in settings, requests and answers in files, vendors' words for a call and for an answer."""
