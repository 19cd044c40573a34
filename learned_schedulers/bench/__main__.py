"""The process of apart.py: `python -m learned_schedulers.bench NAME SETTINGS MEMORY`."""

from __future__ import annotations

import json
import os
import sys
import traceback

import numpy as np

from learned_schedulers.bench.confinement import confine
from learned_schedulers.bench.graphs import entrant
from learned_schedulers.bench.tasks import Answer, Fault, Task, read_header
from learned_schedulers.graphs.methods import UNSUPPORTED
from learned_schedulers.outside_methods import described

_LONGEST = 2000  # characters of an error


def main(name: str, settings: str, memory: str) -> None:
    """Answer one task after the other; what the method itself prints goes to stderr."""
    tasks, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    unconfined = confine(int(memory))
    try:
        entered = entrant(name, **json.loads(settings))
    except ValueError as error:
        answers.write(Answer(fault=str(error)[:_LONGEST]).as_message())
        return
    introduction = entered.introduction.model_copy(update={"unconfined": unconfined})
    answers.write(Answer(introduction=introduction).as_message())
    answers.flush()
    printed: set[str] = set()
    while content := read_header(tasks):
        number, task = Task.read(content)
        answers.write(Answer(number=number).as_message())
        answers.flush()
        read_header(tasks)  # from now on the judge's clock runs
        try:
            proposals = entered.propose(task)
            answer = Answer(
                number=number,
                status=proposals.status,
                message=proposals.message[:_LONGEST],
                count=0 if proposals.status == UNSUPPORTED else len(proposals.orders),
                stats={key: np.asarray(values).tolist() for key, values in proposals.stats.items()},
            ).as_message(None if proposals.status == UNSUPPORTED else proposals)
        except Exception as error:  # whatever a stranger's code raises
            text = str(error) if isinstance(error, Fault) else described(error)
            if text not in printed and not isinstance(error, Fault):
                printed.add(text)
                traceback.print_exception(error)
            answer = Answer(number=number, fault=" ".join(text.split())[:_LONGEST]).as_message()
        answers.write(answer)
        answers.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
