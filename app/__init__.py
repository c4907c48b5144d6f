"""InferPrice: what a GPU hour costs, per byte of memory bandwidth and per operation."""

__version__ = "0.1.0"
