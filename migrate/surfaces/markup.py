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


def element(name: str, *content: str, **attributes: object) -> str:
    """An element around ``content``, which is markup. Attributes are text; ``class_`` is ``class``, ``None`` none."""
    listed = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escaped(value)}"'
        for key, value in attributes.items()
        if value is not None
    )
    return f"<{name}{listed}>{''.join(content)}</{name}>"
