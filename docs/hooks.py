"""What mkdocs asks while it builds the site: the pages that are made (``pages.py``), and links that lead to pages."""

from __future__ import annotations

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page
from pages import ROOT, filled, linked, pages


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that are made."""
    for place, text in pages().items():
        files.append(File.generated(config, place, content=text))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Links of a hand-written page, and the parts of it that are made."""
    path = f"docs/{page.file.src_uri}"
    return filled(linked(markdown, path)) if (ROOT / path).is_file() else markdown
