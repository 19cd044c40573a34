"""What bounds imitators of GCC, in the form in which it is published: ceiling, twins, wrong blocks, audit."""

from __future__ import annotations

from pipeline.schemas import SCHEMAS

_RUN = ["model", "set", "seed"]  # whose wrong blocks
COLUMNS = {  # of reports/published/<name>.csv
    "imitation_ceiling": SCHEMAS["ceiling"].names,
    "imitation_twins": SCHEMAS["twins"].names,
    "imitation_errors": [*_RUN, *SCHEMAS["error_shares"].names],
    "imitation_error_blocks": [*_RUN, *SCHEMAS["errors"].names],
    "imitation_audit": SCHEMAS["audit"].names,
}
