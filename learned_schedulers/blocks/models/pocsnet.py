"""The network of POCSNet (Jain & Amarasinghe 2019, section 4): LSTM -> MLP -> n x n matrix -> operator."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import torch
from torch import nn

from learned_schedulers.blocks.models.pocsnet_settings import Training
from learned_schedulers.blocks.problems.problems import Problems
from learned_schedulers.blocks.problems.token_blocks import TokenTrie
from learned_schedulers.learning import weights
from learned_schedulers.learning.loop import Diverged
from learned_schedulers.operators.orders import PartialOrders, partial_orders
from learned_schedulers.operators.popocs import popocs
from learned_schedulers.operators.sinkhorn import sinkhorn

_INFERENCE_BATCH = 1024  # blocks
_KIND = "pocsnet"  # of its file of weights


class InstructionEncoder(nn.Module):
    """One LSTM over the tokens of each instruction; its last state is the instruction's embedding.

    A batch computes the states of a common prefix once: the numbers are those of an LSTM over each single
    instruction, and the work is that of the distinct prefixes.
    """

    def __init__(self, n_tokens: int, hidden: int) -> None:
        super().__init__()
        self.hidden = hidden
        self.embedding = nn.Embedding(n_tokens, hidden)
        self.lstm = nn.LSTMCell(hidden, hidden)

    def forward(self, paths: torch.Tensor, last_token: torch.Tensor) -> torch.Tensor:
        """paths: (M, L) prefix nodes, -1 beyond the end; last_token: (N,) of each node. Returns (M, hidden)."""
        nodes, parents = [], []  # of each depth: distinct prefixes, and the row of each one's parent
        last = torch.zeros(len(paths), dtype=torch.long)  # row of each instruction's longest prefix so far
        row = torch.zeros(len(paths), dtype=torch.long)  # row of that prefix among those of its depth
        rows = 0
        for column in paths.unbind(1):
            longer = (column >= 0).nonzero().squeeze(1)  # instructions that are not at their end
            if not len(longer):
                break
            distinct, position = column[longer].unique(return_inverse=True)
            parents.append(torch.empty(len(distinct), dtype=torch.long).scatter_(0, position, row[longer]))
            nodes.append(distinct)
            row[longer] = position
            last[longer] = rows + position
            rows += len(distinct)
        # A batch has far fewer tokens than prefixes, so compute each token's part of the gates once.
        tokens, token = last_token[torch.cat(nodes)].unique(return_inverse=True)
        bias = self.lstm.bias_ih + self.lstm.bias_hh
        token_parts = nn.functional.linear(self.embedding(tokens), self.lstm.weight_ih, bias)  # (tokens, 4 * hidden)
        inputs = token_parts.index_select(0, token)  # (rows, 4 * hidden)
        h = c = torch.zeros(1, self.hidden)
        states = []
        for part, parent in zip(inputs.split([len(p) for p in parents]), parents, strict=True):
            inner, position = parent.unique(return_inverse=True)  # prefixes that continue
            carried = nn.functional.linear(h.index_select(0, inner), self.lstm.weight_hh)
            gates = part + carried.index_select(0, position)  # (rows of this depth, 4 * hidden)
            i, f, g, o = gates.chunk(4, 1)
            c = f.sigmoid() * c.index_select(0, parent) + i.sigmoid() * g.tanh()
            h = o.sigmoid() * c.tanh()
            states.append(h)
        return torch.cat(states).index_select(0, last)


class POCSNet(nn.Module):
    """Blocks of n instructions, shown in some legal order -> soft assignment of instructions to slots."""

    def __init__(self, n: int, n_tokens: int, settings: Training) -> None:
        super().__init__()
        self.n, self.n_tokens, self.settings, width = n, n_tokens, settings, settings.hidden
        self.encoder = InstructionEncoder(n_tokens, width)
        self.mlp = nn.Sequential(
            nn.Linear(n * width, width), nn.BatchNorm1d(width), nn.ReLU(),
            nn.Linear(width, width), nn.BatchNorm1d(width), nn.ReLU(),
            nn.Linear(width, n * n),
        )  # fmt: skip

    def logits(self, problems: Problems, trie: TokenTrie) -> torch.Tensor:
        """Returns (B, n, n): unconstrained scores of instruction i in slot j."""
        size = len(problems)
        paths = torch.from_numpy(trie.paths[problems.instructions.ravel()])  # (B * n, L)
        embedded = self.encoder(paths, torch.from_numpy(trie.last_token))  # (B * n, hidden)
        return self.mlp(embedded.view(size, -1)).view(size, self.n, self.n)

    def proposal(self, logits: torch.Tensor) -> torch.Tensor:
        """The input of POPOCS, (B, n, n): the logits, their row softmax, or the result of five Sinkhorn iterations."""
        match self.settings.proposal:
            case "logits":
                return logits
            case "softmax":
                return logits.softmax(-1)
            case "sinkhorn":
                return sinkhorn(logits, 5)

    def constrain(self, logits: torch.Tensor, orders: PartialOrders, iterations: int) -> torch.Tensor:
        """Apply the operator to logits (B, n, n); only POPOCS uses the partial orders."""
        if self.settings.operator == "sinkhorn":
            return sinkhorn(logits, iterations)
        return popocs(self.proposal(logits), orders, method=self.settings.method, iterations=iterations)

    def save(self, path: Path) -> None:
        """Write the weights with the settings."""
        description = {"n": self.n, "n_tokens": self.n_tokens, "settings": self.settings.model_dump()}
        weights.save(self, path, _KIND, json.dumps(description))

    @staticmethod
    def load(path: Path) -> POCSNet:
        """A trained network from its file. Raises ValueError for a file that is not one."""
        return weights.load(path, _KIND, _described)


def _described(description: str) -> POCSNet:
    parts = json.loads(description)
    return POCSNet(parts["n"], parts["n_tokens"], Training.model_validate(parts["settings"]))


def constrained(model: POCSNet, problems: Problems, trie: TokenTrie, iterations: int) -> torch.Tensor:
    """Soft assignments (B, n, n) of a batch of problems; instructions have the numbers in which they are shown."""
    logits = model.logits(problems, trie)
    return model.constrain(logits, partial_orders(problems.precedes), iterations)


@torch.no_grad()
def assign(model: POCSNet, problems: Problems, trie: TokenTrie, iterations: int) -> np.ndarray:
    """Soft assignments (B, n, n) from a trained network, computed in batches that fit the cache."""
    starts = range(0, len(problems), _INFERENCE_BATCH)
    matrices = [constrained(model, problems[s : s + _INFERENCE_BATCH], trie, iterations) for s in starts]
    matrix = torch.cat(matrices)
    if not matrix.isfinite().all():
        raise Diverged("the numbers of the network are not finite; lower learning_rate and train again")
    return matrix.numpy()
