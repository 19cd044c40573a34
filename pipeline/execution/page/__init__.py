"""Sections on the page of another chapter."""

from pipeline.lab.page.pages import Part

PAGE = Part(page="devices", experiments=("this_machine",), sections=("machine",))
