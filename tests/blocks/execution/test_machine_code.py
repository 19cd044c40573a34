import pytest

from pipeline.blocks.execution import layout
from pipeline.blocks.execution.machine_code import assemble
from pipeline.blocks.execution.trampoline import trampoline


def test_text_becomes_bytes_and_labels() -> None:
    made = assemble("begin:\n nop\nhere: ret")
    assert made.code == b"\x90\xc3"
    assert made.labels["begin"] == 0 and made.labels["here"] == 1


def test_a_reference_to_elsewhere_is_refused() -> None:
    with pytest.raises(ValueError, match="does not define"):
        assemble("call elsewhere")


def test_the_trampoline_fits_and_names_its_functions() -> None:
    made = trampoline()
    assert len(made.code) <= layout.CODE_BYTES
    assert {"run", "leave", "handler", "restorer", "fill", "identify"} <= set(made.labels)
