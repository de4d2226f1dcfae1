"""A small Kubernetes client over raw JSON: calls, and caches that follow the cluster.

Standard library only, Python 3.8 or newer. The server and the keeper use the same one.
"""
