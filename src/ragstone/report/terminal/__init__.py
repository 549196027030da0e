"""What a person sees of a run in a terminal: values in, rich renderables out.

``text`` makes foreign text harmless and writes numbers, ``screen`` knows the terminal, ``outcome`` draws a run,
``case`` one record, ``lists`` the tables, ``live`` a run while it goes on. Nothing here prints.
"""
