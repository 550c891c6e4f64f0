"""Approvals: asking, answering, looking; nothing happens without a positive answer of somebody who may give it."""
