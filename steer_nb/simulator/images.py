"""The hosted tool that makes pictures, and a small picture to show for it."""

from __future__ import annotations

import base64
import struct
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from steer_nb.simulator.hosted import WORK_S, Hosted
from steer_nb.simulator.place import Beat

if TYPE_CHECKING:
    from collections.abc import Generator

    from steer_nb.simulator.place import Place

__all__ = ["GenerateImage", "draw"]

_SIDE = 64
_FINEST = 4


@dataclass(frozen=True)
class GenerateImage(Hosted):
    """Make a picture. Where `result` holds none, a small one is drawn.

    Parameters
    ----------
    revised_prompt : str
        What is drawn, in the model's words.
    result : str, optional
        The picture in base64.
    partial_images : int
        So many pictures come before it is finished, coarser ones first where they are drawn.
    size, quality, background, output_format : str
        How it is made, as the API says it.
    error : str, optional
        Why there is no picture; the item then ends as ``failed``.
    seconds : float
        How long the tool works, at speed 1.

    Examples
    --------
    >>> GenerateImage("A tram on a hill.").output_format
    'png'
    """

    revised_prompt: str
    result: str | None = None
    partial_images: int = 1
    size: str = f"{_SIDE}x{_SIDE}"
    quality: str = "low"
    background: str = "opaque"
    output_format: str = "png"
    error: str | None = None
    seconds: float = WORK_S

    def play(self, place: Place) -> Generator[Beat, None, dict[str, Any]]:
        """Give the events of the item, and the finished item."""
        item: dict[str, Any] = {
            "id": place.id("ig"),
            "type": "image_generation_call",
            "status": "in_progress",
        }
        made = {
            "size": self.size,
            "quality": self.quality,
            "background": self.background,
            "output_format": self.output_format,
        }
        yield self.added(place, item)
        yield self.state(place, item, "in_progress")
        number = 0 if self.error is not None else self.partial_images
        pause = self.seconds / (number + 1)
        yield self.state(place, item, "generating", pause)
        seed = place.ids.digest(self.revised_prompt)
        for index in range(number):
            picture = self.result or draw(seed, number - index)
            image = {"partial_image_index": index, "partial_image_b64": picture}
            beat = self.state(place, item, "partial_image", pause)
            yield Beat({**beat.event, **image, **made}, pause)
        item = {**item, **made, "revised_prompt": self.revised_prompt, "result": None}
        if self.error is None:
            yield self.state(place, item, "completed")
            item |= {"status": "completed", "result": self.result or draw(seed)}
        else:
            error = {"type": "image_generation_user_error", "code": "moderation_blocked"}
            item |= {"status": "failed", "error": {**error, "message": self.error}}
        yield self.done(place, item)
        return item


def draw(seed: str, coarse: int = 0) -> str:
    """Draw a small PNG, in base64: hills under a sky; each seed has its own, coarser or finer.

    Examples
    --------
    >>> base64.b64decode(draw("001122334455"))[1:4]
    b'PNG'
    """
    block = min(_SIDE, _FINEST << coarse) if coarse else 1
    numbers = [int(seed[at : at + 2], 16) for at in range(0, 12, 2)]
    hills = [(20 + numbers[n] % 28, _SIDE * n // 2 + numbers[n] % 16) for n in range(3)]
    sun = 8 + numbers[3] % 48, 8 + numbers[4] % 8
    rows = bytearray()
    for y in range(_SIDE):
        rows.append(0)  # PNG: this row is stored as it is
        for x in range(_SIDE):
            across, down = x // block * block, y // block * block
            height = max(top - abs(across - middle) * top // 40 for top, middle in hills)
            colour = (110 + numbers[5] // 4 + down, 160 + down, 235 - down // 2)
            if (across - sun[0]) ** 2 + (down - sun[1]) ** 2 < _FINEST**2 * 2:
                colour = (250, 214, 90)
            if _SIDE - down <= height:
                colour = (40 + numbers[5] // 8, 165 - down, 84)
            rows += bytes(colour)
    head = struct.pack(">IIBBBBB", _SIDE, _SIDE, 8, 2, 0, 0, 0)
    parts = ((b"IHDR", head), (b"IDAT", zlib.compress(bytes(rows), 9)), (b"IEND", b""))
    png = b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
        for name, data in parts
    )
    return base64.b64encode(png).decode("ascii")
