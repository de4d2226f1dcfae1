"""Why an image cannot be had, in words."""

from __future__ import annotations

import re

from ...models import Reason
from . import wording

CODE = "image"
WAITING = (
    "ErrImagePull",
    "ImagePullBackOff",
    "InvalidImageName",
    "ErrImageNeverPull",
    "ImageInspectError",
    "RegistryUnavailable",
    "SignatureValidationFailed",
)

_CAUSES = (
    (r"too ?many ?requests|\b429\b|toomanyrequests", "its registry allows no more downloads now"),
    (
        r"pull access denied|may require authorization|insufficient_scope|unauthorized|"
        r"authentication required|denied: |no basic auth credentials|\b40[13]\b",
        "it does not exist, or its registry wants a login (pull secret)",
    ),
    (r"no match for platform|no matching manifest|exec format", "it is not for these machines"),
    (r"manifest unknown|not found|does not exist|\b404\b", "it does not exist"),
    (r"no space left", "the node's disk is full"),
    (r"x509|certificate", "the certificate of its registry is not accepted"),
    (
        r"no such host|i/o timeout|connection refused|no route to host|network is unreachable|"
        r"deadline exceeded|context canceled|TLS handshake|dial tcp|EOF",
        "its registry cannot be reached",
    ),
    (r"pull QPS exceeded", "the node is busy with other downloads"),
)  # fmt: skip


def not_there(image: str, waiting: str, *messages: str) -> Reason:
    """Return why a container has no image.

    Parameters
    ----------
    image
        Its name, empty when that is not known.
    waiting
        The reason of the container's state, one of `WAITING`.
    messages
        What the node said, the most telling first.
    """
    name = f"The image {image}" if image else "The image"
    detail = next((message for message in messages if message), "")
    if waiting == "InvalidImageName":
        return wording.reason(CODE, f"{name} has a name that is not valid.", detail)
    if waiting == "ErrImageNeverPull":
        words = f"{name} is not on the node, and the settings say never to download it."
        return wording.reason(CODE, words, detail)
    if waiting == "SignatureValidationFailed":
        return wording.reason(CODE, f"{name} is not signed as the cluster wants it.", detail)
    for message in messages:
        cause = _cause(message)
        if cause:
            return wording.reason(CODE, f"{name} cannot be downloaded: {cause}.", message)
    return wording.reason(CODE, f"{name} cannot be downloaded.", detail)


def _cause(message: str) -> str:
    # The name of the image may hold any of the words that are looked for.
    told = re.sub(r'"[^"]*"', '""', message[: wording.READ_LIMIT])
    for pattern, cause in _CAUSES:
        if re.search(pattern, told, re.IGNORECASE):
            return cause
    return ""
