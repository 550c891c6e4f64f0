"""The one place that starts git."""
