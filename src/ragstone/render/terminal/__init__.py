"""The screens of the commands: values in, rich renderables out. Nothing here prints.

``screen`` knows the terminal and has the blocks of a screen, ``tables`` its tables and how they give way on a narrow
one, ``evidence`` the grounds of a verdict. ``outcome`` draws a run and ``case`` one record, with ``sentence_map`` and
``nuggets``; the others are named after their commands.
"""
