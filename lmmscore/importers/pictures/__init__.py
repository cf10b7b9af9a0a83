"""Folders of pictures, as people already keep them, turned into benchmark.yaml.

Each file in `layouts/` is one way to arrange pictures. It registers itself; nothing else changes.
"""
