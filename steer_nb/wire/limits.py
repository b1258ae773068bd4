"""Sizes that the service allows (1.3 and chapter 6). Characters, where nothing else is said."""

from __future__ import annotations

from typing import Final

__all__ = [
    "CALL_ID_LIMIT",
    "CONNECTION_SECONDS",
    "FILES_LIMIT",
    "FILE_DATA_LIMIT",
    "IMAGE_URL_LIMIT",
    "MAX_IMAGES",
    "MAX_IN_FLIGHT",
    "MAX_STREAM_IDS",
    "MULTI_AGENT_BETA",
    "NAMESPACE_LIMIT",
    "NAME_LIMIT",
    "REQUEST_LIMIT",
    "STREAM_ID_LIMIT",
    "TEXT_LIMIT",
]

TEXT_LIMIT: Final = 10_485_760
"""Text of a tool result, of a content part, of stdout, of stderr, of a patch log."""
IMAGE_URL_LIMIT: Final = 20_971_520
"""URL of an image in a content part, data URLs included."""
FILE_DATA_LIMIT: Final = 73_400_320
"""Data of a file in a content part."""
FILES_LIMIT: Final = 50 * 1024 * 1024
"""Bytes of all files that one request holds, together (guide "File inputs": 50 MB)."""
MAX_IMAGES: Final = 1500
"""Images in one request (guide "Images and vision")."""
REQUEST_LIMIT: Final = 512 * 1024 * 1024
"""Bytes of a whole request (guide "Images and vision": 512 MB total payload)."""
CALL_ID_LIMIT: Final = 64
NAME_LIMIT: Final = 128
NAMESPACE_LIMIT: Final = 64
STREAM_ID_LIMIT: Final = 256
MAX_STREAM_IDS: Final = 32
"""Distinct lane names over the life of a connection; the default lane is not counted."""
MAX_IN_FLIGHT: Final = 16
"""Responses in flight on a connection. More are no error: they wait in the service's queue."""
CONNECTION_SECONDS: Final = 3600
"""Age at which the service ends a connection."""
MULTI_AGENT_BETA: Final = "responses_multi_agent=v1"
"""What the header ``OpenAI-Beta`` says on a connection for multi-agent responses (chapter 7)."""
