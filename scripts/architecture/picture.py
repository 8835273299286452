"""The folders on their floors and the arrows between them, as SVG."""

from __future__ import annotations

from collections import defaultdict
from html import escape

from scripts.architecture.imports import Imports, floors, imports, of_folders

WIDTH, HEIGHT = 110, 34
"""Of a box."""
ACROSS, DOWN = 160, 74
"""From one box to the next."""
MARGIN = 20
HEAD = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {0} {1}" width="{0}" height="{1}" '
    'font-family="sans-serif" font-size="13">\n'
    "<title>What imports what in pgo_advisor: an arrow goes from what imports to what is imported.</title>\n"
    '<defs><marker id="tip" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" '
    'orient="auto"><path d="M0 0L8 4L0 8z" fill="#778"/></marker></defs>\n'
    '<rect width="100%" height="100%" fill="#fff"/>\n'
)


def picture() -> str:
    """The picture of the code as it is."""
    return draw(_without_detours(of_folders(imports())))


def draw(folders: Imports) -> str:
    """One box a folder, the highest floor on top; those of a floor stand in the order of their names."""
    rows = defaultdict(list)
    for name, floor in sorted(floors(folders).items()):
        rows[floor].append(name)
    width = 2 * MARGIN + WIDTH + ACROSS * (max(map(len, rows.values())) - 1) + ACROSS
    place = {
        name: (
            (width - ACROSS * (len(row) - 1)) / 2 + ACROSS * number + 30 * (floor % 3 - 1),
            MARGIN + HEIGHT / 2 + DOWN * (max(rows) - floor),
        )
        for floor, row in rows.items()
        for number, name in enumerate(row)
    }
    arrows = [
        _arrow(place[name], place[other])
        for name, imported in sorted(folders.items())
        for other in sorted(imported)
    ]
    boxes = [_box(name, *place[name]) for name in sorted(place)]
    height = 2 * MARGIN + HEIGHT + DOWN * (max(rows) - 1)
    return "".join([HEAD.format(width, height), *arrows, *boxes, "</svg>\n"])


def _without_detours(folders: Imports) -> Imports:
    """Without the arrows that a longer way says, too; both arrows of a circle stay."""
    below: Imports = {}
    for name in sorted(folders, key=floors(folders).__getitem__):
        below[name] = folders[name].union(*(below.get(other, set()) for other in folders[name]))
    return {
        name: {
            other
            for other in imported
            if not any(other in below[way] for way in imported - {other} if name not in below[way])
        }
        for name, imported in folders.items()
    }


def _arrow(start: tuple[float, float], end: tuple[float, float]) -> str:
    (left, top), (right, bottom) = start, end
    out, into = (top + HEIGHT / 2, bottom - HEIGHT / 2)
    if top > bottom:
        out, into = (top - HEIGHT / 2, bottom + HEIGHT / 2)
    elif top == bottom:
        out, into = top, bottom
        left, right = (left + WIDTH / 2, right - WIDTH / 2)[:: 1 if left < right else -1]
    bend = (out + into) / 2
    return (
        f'<path d="M{left:g} {out:g}C{left:g} {bend:g} {right:g} {bend:g} {right:g} {into:g}" '
        'fill="none" stroke="#778" marker-end="url(#tip)"/>\n'
    )


def _box(name: str, middle: float, center: float) -> str:
    return (
        f'<rect x="{middle - WIDTH / 2:g}" y="{center - HEIGHT / 2:g}" width="{WIDTH}" height="{HEIGHT}" '
        'rx="5" fill="#eef3fa" stroke="#446"/>\n'
        f'<text x="{middle:g}" y="{center + 4.5:g}" text-anchor="middle">{escape(name)}</text>\n'
    )
