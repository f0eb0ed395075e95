"""The icon, drawn: a node (a hexagon) with a window in it."""

from __future__ import annotations

import struct

SIZES = (16, 32, 48)
_FRAME = (0xA0, 0x5A, 0x1F)  # blue, green, red: the order of a bitmap's bytes
_PANE = (0xFF, 0xFF, 0xFF)
_FINE = 4  # each pixel is looked at in so many places each way

# In units of a hundredth of the icon's side.
_HEXAGON_HALF_HEIGHT = 48
_PANES = ((29, 47), (53, 71))


def _color_at(x: float, y: float) -> tuple[int, int, int] | None:
    across, down = abs(x - 50), abs(y - 50)
    # A hexagon that stands on a corner: two upright sides, four sloping ones of 30 degrees.
    if across > _HEXAGON_HALF_HEIGHT * 0.866 or down > _HEXAGON_HALF_HEIGHT - across * 0.577:
        return None
    in_pane = all(any(low <= value <= high for low, high in _PANES) for value in (x, y))
    return _PANE if in_pane else _FRAME


def _pixel(column: int, row: int, size: int) -> bytes:
    found = [
        _color_at((column + (i + 0.5) / _FINE) * 100 / size, (row + (j + 0.5) / _FINE) * 100 / size)
        for i in range(_FINE)
        for j in range(_FINE)
    ]
    inside = [color for color in found if color is not None]
    if not inside:
        return bytes(4)
    mean = [sum(color[channel] for color in inside) // len(inside) for channel in range(3)]
    return bytes([*mean, 255 * len(inside) // len(found)])


def bitmap(size: int) -> bytes:
    """One picture, as a resource holds it. A bitmap: a PNG's bytes would depend on the zlib at hand."""
    # Twice the height: the mask of the days before transparency follows, all zero.
    header = struct.pack("<IiiHHIIiiII", 40, size, 2 * size, 1, 32, 0, 0, 0, 0, 0, 0)
    rows = [b"".join(_pixel(column, row, size) for column in range(size)) for row in reversed(range(size))]
    mask = bytes(-(-size // 32) * 4 * size)
    return header + b"".join(rows) + mask
