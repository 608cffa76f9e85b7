"""Vendored class lists: one wnid a line, sorted."""
