"""The documentation site: ``make docs`` writes it to ``out/docs``. It is static, and loads nothing from elsewhere.

``index.md`` is the table of contents: each of its sections that links to pages is a part of the navigation.
"""

import re

from sphinx.application import Sphinx

from ragstone import __version__

project = "Ragstone"
version = release = __version__
extensions = ["myst_parser"]
html_theme = "furo"
html_static_path = ["site"]
html_css_files = ["site.css"]
html_title = f"Ragstone {release}"
html_copy_source = False
html_show_sphinx = False
html_show_copyright = False
myst_heading_anchors = 4
suppress_warnings = ["misc.highlighting_failure"]


def navigation(_: Sphinx, page: str, text: list[str]) -> None:
    """Add the navigation, which is for the site alone, to the pages that lead on; show screens without colours."""
    text[0] = re.sub(r"^```console.*$", "```text", text[0], flags=re.MULTILINE)  # a lexer takes numbers for errors
    if page == "decisions/README":
        text[0] += _tree("", ["0*"])
    if page == "index":
        for section in text[0].split("\n## ")[1:]:
            heading, _, body = section.partition("\n")
            text[0] += _tree(heading, re.findall(r"\]\(([\w/-]+\.md)\)", body))


def _tree(heading: str, pages: list[str]) -> str:
    options = [":hidden:", f":caption: {heading}"] if heading else [":glob:"]
    return "\n".join(["", "", "```{toctree}", *options, "", *pages, "```", ""]) if pages else ""


def setup(app: Sphinx) -> None:
    """Called by Sphinx."""
    app.connect("source-read", navigation)
