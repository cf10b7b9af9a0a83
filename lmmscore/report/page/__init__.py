"""The report: one page with everything behind the numbers."""

from lmmscore.report.page.document import PageOptions, write_page

__all__ = ["PageOptions", "write_page"]
