"""The host file, purely: who is in it, in which order, and how each framework reads it."""
