"""What bounds imitators of GCC, in the form in which it is published: ceiling, twins, wrong blocks, audit."""

from __future__ import annotations

from pipeline.schemas import SCHEMAS

_RUN = ["model", "set", "seed"]  # whose wrong blocks
_CODE = {"gcc_order", "predicted_order"}  # whole blocks are other people's code: they stay in data/
COLUMNS = {  # of reports/published/<name>.csv
    "imitation_ceiling": SCHEMAS["ceiling"].names,
    "imitation_twins": SCHEMAS["twins"].names,
    "imitation_errors": [*_RUN, *SCHEMAS["error_shares"].names],
    "imitation_error_blocks": [*_RUN, *(name for name in SCHEMAS["errors"].names if name not in _CODE)],
    "imitation_audit": SCHEMAS["audit"].names,
}
