"""Networks that order computation graphs, and how each is trained. Called by schedulers and by stages that train."""

from pathlib import Path

SHIPPED = Path(__file__).parent / "shipped" / "policy.safetensors"  # made by the rule `ship_policy`; its card beside it
