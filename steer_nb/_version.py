"""The version, in the one place that packaging and code both read."""

__version__ = "0.1.0"
