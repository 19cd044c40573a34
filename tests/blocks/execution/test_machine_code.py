import pytest

from pipeline.blocks.execution import layout
from pipeline.blocks.execution.machine_code import assemble
from pipeline.blocks.execution.trampoline import trampoline


def test_text_becomes_bytes_and_labels() -> None:
    machine_code = assemble("begin:\n nop\nhere: ret")
    assert machine_code.code == b"\x90\xc3"
    assert machine_code.labels["begin"] == 0 and machine_code.labels["here"] == 1


def test_an_undefined_symbol_is_refused() -> None:
    with pytest.raises(ValueError, match="does not define"):
        assemble("call elsewhere")


def test_the_trampoline_fits_and_names_its_functions() -> None:
    machine_code = trampoline()
    assert len(machine_code.code) <= layout.CODE_BYTES
    assert {"run", "leave", "handler", "restorer", "fill", "identify"} <= set(machine_code.labels)
