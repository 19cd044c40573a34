"""Sections on the page of another chapter."""

from pipeline.lab.page.pages import Part

PAGE = Part(page="processors", experiments=("hardware", "hardware_znver4", "hardware_zen4"), sections=("hardware",))
