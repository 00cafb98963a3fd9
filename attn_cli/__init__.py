"""attn: a calculator and tracer for attention."""

__version__ = "0.1.0"
