"""Pods as containers: the engine for a Kubernetes namespace."""

from .engine import KubernetesEngine as KubernetesEngine
