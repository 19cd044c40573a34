"""The process of apart.py: `python -m learned_schedulers.bench NAME SETTINGS MEMORY`."""

from __future__ import annotations

import json
import os
import sys
import traceback
from typing import Any

from learned_schedulers.bench import graphs, projects
from learned_schedulers.bench.confinement import confine
from learned_schedulers.bench.tasks import LONGEST, Answer, Fault, ProjectTask, Task, read_header
from learned_schedulers.outside_methods import described, is_outside, kind_of, load


def main(name: str, settings: str, memory: str) -> None:
    """Answer one task after the other; what the method itself prints goes to stderr."""
    tasks, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    unconfined = confine(int(memory))
    try:
        entered, form = _entrant(name, json.loads(settings))
    except ValueError as error:
        answers.write(Answer(fault=str(error)[:LONGEST]).as_message())
        return
    introduction = entered.introduction.model_copy(update={"unconfined": unconfined})
    answers.write(Answer(introduction=introduction).as_message())
    answers.flush()
    printed: set[str] = set()
    while content := read_header(tasks):
        number, task = form.read(content)
        answers.write(Answer(number=number).as_message())
        answers.flush()
        read_header(tasks)  # from now on the judge's clock runs
        try:
            answer = form.reply(number, entered.propose(task))
        except Exception as error:  # whatever a stranger's code raises
            text = str(error) if isinstance(error, Fault) else described(error)
            if text not in printed and not isinstance(error, Fault):
                printed.add(text)
                traceback.print_exception(error)
            answer = Answer(number=number, fault=" ".join(text.split())[:LONGEST]).as_message()
        answers.write(answer)
        answers.flush()


def _entrant(name: str, settings: dict[str, Any]) -> tuple[Any, type[Task] | type[ProjectTask]]:
    """The method, and the form of its tasks. Raises ValueError for what is no method."""
    if is_outside(name) and kind_of(load(name)) == "project":
        return projects.entrant(name, **settings), ProjectTask
    return graphs.entrant(name, **settings), Task


if __name__ == "__main__":
    main(*sys.argv[1:])
