"""What a training script is, from its text alone."""

from __future__ import annotations

import ast
import re

MAX_SOURCE_BYTES = 256 * 1024
_ELASTIC_TEXT = re.compile(
    r"^\s*(?:from\s+horovod[\w.]*\s+import\s+.*\belastic\b|import\s+horovod[\w.]*\.elastic\b|"
    r"from\s+horovod[\w.]*\.elastic\b)|\b\w+\.elastic\.\w+",
    re.MULTILINE,
)


def has_elastic_code(source: str) -> bool:
    """Whether a script uses Horovod's elastic mode, as far as its own text shows.

    A script that cannot be parsed (another Python's syntax, cut off at the reading limit) is
    searched as text.
    """
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return _ELASTIC_TEXT.search(source) is not None
    return any(_is_elastic(node) for node in ast.walk(tree))


def _is_elastic(node: ast.AST) -> bool:
    if isinstance(node, ast.ImportFrom):
        module = node.module or ""
        named = any(alias.name == "elastic" for alias in node.names)
        return "elastic" in module.split(".") or (named and module.startswith("horovod"))
    if isinstance(node, ast.Import):
        return any("elastic" in alias.name.split(".") for alias in node.names)
    return isinstance(node, ast.Attribute) and node.attr == "elastic"
