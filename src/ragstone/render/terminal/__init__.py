"""What a person sees of a run in a terminal: values in, rich renderables out.

``text`` makes foreign text harmless and writes numbers, ``screen`` knows the terminal. ``outcome`` draws a run,
``case`` one record (with ``nuggets``, ``grounds`` and ``excerpt``), ``comparison`` two methods, ``board`` systems
side by side, ``banks`` what came of nuggets, ``lists`` the tables, ``live`` a run while it goes on; ``recall`` and
``methods`` are blocks of several. Nothing here prints.
"""
