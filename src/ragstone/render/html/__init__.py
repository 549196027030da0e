"""Build the report: a run as one self-contained page, or the same page served from the store.

``overview``, ``rows`` and ``case`` turn a run into plain data; they draw nothing. ``document`` puts data, scripts and
styles into one file; ``live`` serves pages. The drawing code is in page.html, page.css and js/.
"""
