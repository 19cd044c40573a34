"""Stages of this chapter."""
