"""Text of users' files in XML and HTML: nothing of it may become markup, and nothing of it may break a parser."""

from __future__ import annotations

import re
from html import escape

# What XML 1.0 cannot hold, not even escaped; HTML calls the same characters errors.
_NO_CHARACTER = re.compile("[^\t\n\r\x20-\x7e\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def valid(text: str) -> str:
    """``text`` with U+FFFD for what no markup can hold."""
    return _NO_CHARACTER.sub("�", text)


def escaped(text: object) -> str:
    """``str(text)`` as the content of an element or of a quoted attribute."""
    return escape(valid(str(text)))


def content(text: object) -> str:
    """``str(text)`` as the content of an element alone: quotes, of which source has many, stay as they are."""
    return escape(valid(str(text)), quote=False)


def element(name: str, *inner: str, **attributes: object) -> str:
    """An element around ``inner``, which is markup. Attributes are text; ``class_`` is ``class``, ``None`` none."""
    listed = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escaped(value)}"'
        for key, value in attributes.items()
        if value is not None
    )
    return f"<{name}{listed}>{''.join(inner)}</{name}>"


# --- drawings --------------------------------------------------------------------------------------------------------


def rectangle(x: float, y: float, width: float, height: float, classes: str, *content: str) -> str:
    """A rectangle of SVG, and at least so large that it can be seen."""
    where = {"x": x, "y": y, "width": max(width, 0.8), "height": max(height, 0.8)}
    return element("rect", *content, class_=classes or None, **{key: f"{value:.2f}" for key, value in where.items()})


def stroke(x1: float, y1: float, x2: float, y2: float, classes: str = "", *content: str) -> str:
    """A line between two points."""
    where = {"x1": x1, "x2": x2, "y1": y1, "y2": y2}
    return element("line", *content, class_=classes or None, **{key: f"{value:.1f}" for key, value in where.items()})


def words(x: float, y: float, text: object, classes: str = "", anchor: str | None = None) -> str:
    """A line of text in a drawing, at its baseline."""
    return element("text", escaped(text), class_=classes or None, x=f"{x:.1f}", y=f"{y:.1f}", text_anchor=anchor)
