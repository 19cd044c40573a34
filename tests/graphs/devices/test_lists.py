"""Lists of devices and links as users write them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from learned_schedulers.graphs.devices.lists import kinds_of, names_of, transfers_between
from learned_schedulers.graphs.devices.settings import LINKS, Link
from learned_schedulers.graphs.devices.targets import transfers_over

PCIE, NVLINK = LINKS["pcie"], LINKS["nvlink"]
OWN = Link(bytes_per_second=25e9, seconds=5e-6)
KINDS = kinds_of("h100:2,t4,cpu")


def test_lists_of_devices() -> None:
    assert KINDS == ("h100", "h100", "t4", "cpu") == kinds_of(["h100", "h100", "t4:1", "cpu"])
    assert kinds_of("t4, h100:1, t4") == ("t4", "h100", "t4")
    assert names_of(kinds_of("t4,h100,t4")) == ("t4.0", "h100.0", "t4.1")


@pytest.mark.parametrize(
    ("devices", "message"),
    [
        ("h100:2,h9000", "there is no device 'h9000'; there are t4, v100, a100, h100, h200, cpu"),
        ("h100:0", "h100:0: write a number of devices, from 1 on"),
        ("h100:", "h100:: write a number of devices"),
        ("h100:-1", "h100:-1: write a number of devices"),
        ("h100:200,t4:57", "t4:57: write a number of devices, from 1 on and up to 256"),
        (f"h100:{'9' * 5000}", "write a number of devices"),
        ("", "there is no device ''"),
        ([], "the list of devices is empty"),
    ],
)
def test_bad_lists_are_named(devices: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        kinds_of(devices)


def test_the_narrowest_name_of_a_pair_counts() -> None:
    links = {"cpu.0-h100.1": OWN, "h100-h100": NVLINK, "h100-cpu": NVLINK, "h100.0-cpu": PCIE}
    transfers = transfers_between(KINDS, PCIE, links)
    assert isinstance(transfers.slope, np.ndarray) and isinstance(transfers.delay, np.ndarray)
    by_pair = {(0, 1): NVLINK, (0, 2): PCIE, (0, 3): PCIE, (1, 2): PCIE, (1, 3): OWN, (2, 3): PCIE}
    for pair, link in by_pair.items():
        for ends in (pair, pair[::-1]):
            assert (transfers.slope[ends], transfers.delay[ends]) == (1 / link.bytes_per_second, link.seconds)


def test_equal_links_are_a_number() -> None:
    assert transfers_between(KINDS, PCIE, {}) == transfers_over(PCIE)
    assert transfers_between(KINDS, PCIE, {"t4-cpu": PCIE}) == transfers_over(PCIE)
    assert transfers_between(kinds_of("h100:3"), PCIE, {"h100-h100": NVLINK}) == transfers_over(NVLINK)


@pytest.mark.parametrize(
    ("links", "message"),
    [
        ({"h100.0": OWN}, "link 'h100.0': write the two devices that it joins, like h100.0-cpu.0"),
        ({"h100.0-h100.2": OWN}, "there is no device 'h100.2'; there are h100.0, h100.1, t4.0, cpu.0"),
        ({"t4-t4": OWN}, "link t4-t4: this is a single device"),
        ({"h100.1-h100.1": OWN}, "link h100.1-h100.1: this is a single device"),
        ({"h100-t4": OWN, "t4-h100": PCIE}, "links h100-t4 and t4-h100 both name the pair h100.0-t4.0"),
        ({"h100.1-t4": OWN, "h100-t4.0": PCIE}, "both name the pair h100.1-t4.0; leave one of them out"),
    ],
)
def test_bad_links_are_named(links: dict[str, Link], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        transfers_between(KINDS, PCIE, links)
