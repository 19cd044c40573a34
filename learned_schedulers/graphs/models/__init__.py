"""Networks that order computation graphs, and how each is trained. Called by methods and by stages that train."""

from pathlib import Path

# The rule `ship_policy` writes it; README.md beside it describes it.
SHIPPED = Path(__file__).parent / "shipped" / "policy.safetensors"
