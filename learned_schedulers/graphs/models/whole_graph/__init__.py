"""GO (Zhou et al. 2020): one network reads a whole graph once and decides for all of its operations."""

from pathlib import Path

SHIPPED = Path(__file__).parent / "shipped/whole_graph.safetensors"  # in the package; README.md beside it describes it
