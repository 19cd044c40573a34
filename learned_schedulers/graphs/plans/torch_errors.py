"""torch's long error texts as a cause and a remedy."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from traceback import extract_tb

_DATA = (
    "forward needs the value of a tensor (a branch, an index or a size that depends on data)",
    "use torch.where or torch.cond for a branch, a size from a shape or an argument of the constructor, or a plain "
    "Python number",
)
_OF_DATA = (
    r"cannot be called on meta|data-dependent|[Dd]ata dependent|DataDependent|GuardOnDataDep|Could not guard|"
    r"unbacked|DynamicOutputShape|no data allocated|meta tensor|but got FakeTensor|_local_scalar_dense"
)
_CAUSES: Sequence[tuple[str, str, str]] = (  # pattern, cause (empty: torch's first sentence), remedy
    (_OF_DATA, *_DATA),
    (r"no such output|returns no tensor|single numbers|no tensor of real", "", ""),
    (
        r"alloc_cpu|DefaultCPUAllocator|TooLarge",
        "it can only be built with its weights, which do not fit the memory of this machine",
        "take numbers from the constructor's arguments, not from tensors (.item()), so that it can be built without",
    ),
    (
        r"__obj_flatten__|PackedParams",
        "torch.export does not take packed quantised weights",
        "quantise by torch.ao.quantization's PT2E or by torchao, where weights are buffers, or give the ONNX file",
    ),
    (
        r"missing \d+ required (keyword-only )?(positional )?argument|takes \d+ positional argument|"
        r"unexpected keyword argument|from \d+ to \d+ positional|got multiple values",
        "",
        "give --input for each tensor that forward takes, in its order or by name (tokens=int64:8,128), and arguments "
        "of the constructor as mine:Network(width=64)",
    ),
    (
        r"indices.*(Long|Int)|expected.*(Long|Int)\b|index.*must be|must be.*\bint",
        "",
        "write the type before the shape of integer inputs, like int64:8,128",
    ),
    (
        r"same dtype|different types|expected scalar type|to have the same dtype|dtype.*mismatch|Input type .* type",
        "",
        "write the type before the shape, like bfloat16:8,128",
    ),
    (
        r"cannot be multiplied|reduction dim|size of tensor|invalid for input of size|to have \d+ channels|"
        r"[Ss]hape.*(mismatch|invalid|compatible)|broadcast|sizes? of|Expected \dD|normalized_shape|must match|expand|"
        r"expected input|dimension out of range|[Dd]imension|input\.size",
        "",
        "check the shapes of --input, and their order",
    ),
    (
        r"[Mm]utat|in-?place",
        "",
        "let forward return new tensors, or register what it changes as a buffer",
    ),
    (
        r"functorch tensor|torch/_functorch/(apis|eager_transforms|vmap)\.py",
        "forward transforms a function by torch.func (grad, jacrev, vmap), which torch.export does not take there",
        "write the derivative by ordinary operations, or leave it out of the module",
    ),
    (
        r"[Jj]agged|[Nn]ested ?[Tt]ensor|torch/nested/",
        "forward makes nested (jagged) tensors, whose sizes depend on data",
        "pad the sequences to one length, and pass a mask",
    ),
)
_PLACING: Sequence[tuple[str, str]] = (  # pattern, remedy of a module that is placed
    (_OF_DATA, "forward needs the value of a tensor: use torch.where for a branch, and plain numbers for sizes"),
    (r"FunctionalTensor on its own|torch\.compile|dynamo", "take torch.compile off what forward calls"),
    (r"device|FakeTensor", "register tensors that forward makes as buffers, or make them on the device of its inputs"),
    (r"[Jj]agged|[Nn]ested ?[Tt]ensor|torch/nested/", "pad the sequences to one length, and pass a mask"),
    (r"dtype|\b[Tt]ypes?\b", "give the module and its inputs one type, by module.to(torch.bfloat16)"),
    ("", "let forward do it by other operations, or place the module without this part"),
)


def needs_values(error: BaseException | None) -> bool:
    """Whether torch raised the error because forward asks for the values of tensors that have none."""
    return error is not None and re.search(_OF_DATA, f"{type(error).__name__}: {error}") is not None


def cause_and_remedy(error: BaseException) -> str:
    """The first sentence of an error, with a remedy where the cause is a common one."""
    text = " ".join(str(error).split())
    first = re.split(r"(?<=[.;:!?])\s+(?=[A-Z(])|Could not guard|While executing", text, maxsplit=1)[0].rstrip(" .:;")
    first = first[:200] + ("..." if len(first) > 200 else "")
    kind, whole = type(error).__name__, _with_places(error)
    for pattern, cause, remedy in _CAUSES:
        if re.search(pattern, whole):
            detail = ": ".join(part for part in (kind, cause, first) if part)
            return f"{detail}; {remedy}" if remedy else detail
    return f"{kind}: {first}" if first else kind


def placing_remedy(error: BaseException) -> str:
    """What helps against an error while a module is captured."""
    return next(remedy for pattern, remedy in _PLACING if re.search(pattern, _with_places(error)))


def _with_places(error: BaseException) -> str:
    """The error's kind and text on one line, and the files of torch in which it was raised, which say what was used."""
    files = {Path(frame.filename).as_posix() for frame in extract_tb(error.__traceback__)}
    places = [file[file.index("/torch/") + 1 :] for file in sorted(files) if "/torch/" in file]
    parts = [place for place in places if re.match(r"torch/(_functorch/[a-z_]+\.py|nested/)", place)]
    return " ".join([f"{type(error).__name__}:", *str(error).split(), *parts])
