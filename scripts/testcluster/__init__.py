"""A real Kubernetes on this machine for the tests: built from source, started and swept away.

Standard library only: it has to run before any environment exists. ``scripts/cluster.py`` is
the command line; the tests use :func:`testcluster.cluster.start`.
"""
