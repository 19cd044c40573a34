"""What the library's packages offer under their own names; the decoders need NumPy and Numba alone."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module
from types import ModuleType

import pytest

_REFUSAL = """
import sys
from importlib.abc import MetaPathFinder

class Refusal(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {"torch", "scipy", "pandas"}:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Refusal())
"""


def typed(script: str) -> str:
    """What a script prints where torch, scipy and pandas are not installed."""
    answer = subprocess.run([sys.executable, "-c", _REFUSAL + script], capture_output=True, text=True, check=False)
    assert answer.returncode == 0, answer.stderr
    return answer.stdout


@pytest.mark.parametrize("package", ["", ".operators", ".blocks", ".graphs", ".learning"])
def test_every_name_is_offered(package: str) -> None:
    module = import_module(f"learned_schedulers{package}")
    assert len(set(module.__all__)) == len(module.__all__) > 3 and set(module.__all__) <= {*dir(module)}
    for name in module.__all__:
        value = getattr(module, name)
        assert not isinstance(value, ModuleType)
        assert getattr(value, "__module__", module.__name__).startswith(module.__name__)
    with pytest.raises(AttributeError, match="has no attribute 'no_such_name'"):
        _ = module.no_such_name


def test_a_function_hides_the_module_of_its_name_whichever_comes_first() -> None:
    script = "import learned_schedulers.operators.best_order, learned_schedulers.operators as operators\n"
    script += "assert callable(operators.best_order)\n"
    script += "from learned_schedulers.operators.best_order import best_order\n"
    script += "assert operators.best_order is best_order"
    typed(script)


def test_importing_a_package_imports_nothing_else() -> None:
    script = "import learned_schedulers.operators, learned_schedulers.blocks, learned_schedulers.graphs\n"
    script += "import learned_schedulers.learning; print({'numpy', 'numba'} & {*sys.modules})"
    assert typed(script).strip() == "set()"


def test_the_decoders_run_on_numpy_alone() -> None:
    script = "import numpy as np\n"
    script += "from learned_schedulers.operators import best_order, expected_slots, hungarian, partial_orders\n"
    script += "from learned_schedulers.operators import topological_fill\n"
    script += "precedes = np.zeros((1, 3, 3), bool); precedes[0, 2, 0] = True\n"
    script += "orders, matrix = partial_orders(precedes), np.eye(3)[None]\n"
    script += "print(hungarian(matrix).tolist(), best_order(matrix, orders).order.tolist())\n"
    script += "print(expected_slots(matrix, orders).tolist(), topological_fill(matrix, orders).tolist())"
    first, second = typed(script).splitlines()
    # 2 must come before 0: the order 1 2 0 and 2 1 0 are legal, and 2 1 0 keeps one instruction in its slot.
    assert first == "[[0, 1, 2]] [[2, 1, 0]]" and second == "[[1, 2, 0]] [[1, 2, 0]]"
