"""Derivatives to look at: pages in HTML, and what notebooks show.

In: the text of a derivative with the places that its lines come from, and its `Explanation`. Out: HTML that needs
nothing but a browser.

    page(title, listings, texts, tables)      one self-contained page: `derivative.report("page.html", x, 0.5)`
"""
