"""Build the screens of the commands: values in, rich renderables out. Nothing here prints.

``screen`` handles the terminal and provides the building blocks, ``tables`` the tables and how they adapt to narrow
terminals, ``evidence`` the reasons and quotes of a verdict. ``outcome`` draws a run and ``case`` one record, with
``sentence_map`` and ``nuggets``; the others are named after their commands.
"""
