"""Benchmark image-editing methods with a multimodal judge, as a conversation."""

from __future__ import annotations

__version__ = "0.1.0"
