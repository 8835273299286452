"""What imports what, from the text of the files: `if TYPE_CHECKING` counts, too."""

from __future__ import annotations

import grimp

Imports = dict[str, set[str]]
"""A module or a folder → those that it imports."""


def imports(package: str = "pgo_advisor") -> Imports:
    """The imports between the modules of the package, each by its full name."""
    graph = grimp.build_graph(package, cache_dir=None)
    return {
        module: graph.find_modules_directly_imported_by(module) for module in sorted(graph.modules)
    }


def of_folders(modules: Imports) -> Imports:
    """The imports between what stands in the package itself: its folders, and its files."""
    found: Imports = {}
    for module, imported in modules.items():
        if "." in module:
            name = module.split(".")[1]
            others = {other.split(".")[1] for other in imported if "." in other}
            found.setdefault(name, set()).update(others - {name})
    return found


def circles(modules: Imports) -> list[set[str]]:
    """The sets of modules that all import each other, directly or not, by Tarjan's algorithm."""
    number: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[set[str]] = []

    def visit(module: str) -> None:
        number[module] = low[module] = len(number)
        stack.append(module)
        for other in sorted(modules.get(module, ())):
            if other not in number:
                visit(other)
                low[module] = min(low[module], low[other])
            elif other in stack:
                low[module] = min(low[module], number[other])
        if low[module] == number[module]:
            start = stack.index(module)
            found.append(set(stack[start:]))
            del stack[start:]

    for module in modules:
        if module not in number:
            visit(module)
    return found


def floors(modules: Imports) -> dict[str, int]:
    """On which floor each module stands: one above the highest that it imports. A circle is one floor."""
    floor: dict[str, int] = {}
    for circle in circles(modules):  # those that are imported come first
        below = {other for module in circle for other in modules.get(module, ())} - circle
        floor.update(dict.fromkeys(circle, 1 + max((floor[other] for other in below), default=0)))
    return floor
