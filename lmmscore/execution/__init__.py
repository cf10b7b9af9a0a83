"""Drivers of sessions.

An executor plays the units of a plan; each is a module that registers itself.
"""
