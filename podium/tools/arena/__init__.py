"""The arena: clinicians compare two anonymous reports of the same case, and ratings follow from their votes.

An offline tool: `pip install '.[arena]'` installs what it needs, and the image has none of it.
"""
