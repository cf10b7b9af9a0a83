"""The report: one page with everything behind the numbers."""

from lmmscore.report.page.writing import Wish, write_report

__all__ = ["Wish", "write_report"]
