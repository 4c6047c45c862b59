"""Reports for people: a ranking, or one submission, as one HTML file that needs nothing but a browser.

They read ranking.json and metrics.json, which contain text from participants: all of it is escaped, and nothing in
the page runs or is fetched.
"""
