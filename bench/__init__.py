"""Measurements of speed and size. ``make bench`` runs them and writes ``bench/RESULTS.md``."""
