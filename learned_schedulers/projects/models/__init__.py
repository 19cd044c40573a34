"""Networks that schedule job-shops, and how they are trained. Called by methods and by stages that train."""

from pathlib import Path

# The rule `ship_job_shop` writes it; README.md beside it describes it.
SHIPPED = Path(__file__).parent / "shipped" / "job_shop.safetensors"
