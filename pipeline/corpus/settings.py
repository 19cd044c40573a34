"""Settings of the check of the DAGs."""

from __future__ import annotations

from learned_schedulers.blocks.run.verification_settings import Verification
from learned_schedulers.section import Section


class Sections(Section):
    """Sections of the parameters."""

    dag_verification: Verification
