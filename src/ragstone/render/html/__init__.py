"""The report: a run as one page that needs nothing else, or the same page served from the store.

``overview``, ``rows`` and ``case`` turn a run into plain data and draw nothing; ``document`` puts data, script and
style into one file; ``live`` serves them. What is drawn is in page.html, page.css and js/.
"""
