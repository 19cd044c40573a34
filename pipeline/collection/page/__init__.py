"""Sections on the page of another chapter."""

from pipeline.lab.page.pages import Part

PAGE = Part(page="fusion", experiments=("data_collection",), sections=("collection",))
