"""The network of POCSNet (Jain & Amarasinghe 2019, section 4): LSTM -> MLP -> n x n matrix -> operator."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import nn

from pipeline import tables
from pipeline.blocks.problems.problems import Problems
from pipeline.blocks.problems.token_blocks import TokenTrie
from pipeline.config.pocsnet import Training
from pipeline.learning.diverged import Diverged
from pipeline.operators.orders import PartialOrders, partial_orders
from pipeline.operators.popocs import popocs
from pipeline.operators.sinkhorn import sinkhorn

_INFERENCE_BATCH = 1024  # blocks
_DESCRIPTION = "pocsnet"  # key in a file's metadata


class InstructionEncoder(nn.Module):
    """One LSTM over the tokens of each instruction; its last state is the instruction's embedding.

    The states of a common prefix are computed once for a batch: the numbers are those of an LSTM run
    over every instruction by itself, the work is that of the distinct prefixes.
    """

    def __init__(self, n_tokens: int, hidden: int) -> None:
        super().__init__()
        self.hidden = hidden
        self.embedding = nn.Embedding(n_tokens, hidden)
        self.lstm = nn.LSTMCell(hidden, hidden)

    def forward(self, paths: torch.Tensor, last_token: torch.Tensor) -> torch.Tensor:
        """paths: (M, L) prefix nodes, -1 beyond the end; last_token: (N,) of each node. Returns (M, hidden)."""
        nodes, mothers = [], []  # for each depth: distinct prefixes, and the row of each one's own prefix
        last = torch.zeros(len(paths), dtype=torch.long)  # row of each instruction's longest prefix so far
        row = torch.zeros(len(paths), dtype=torch.long)  # the same among the prefixes of one depth
        rows = 0
        for column in paths.unbind(1):
            going = (column >= 0).nonzero().squeeze(1)
            if not len(going):
                break
            distinct, position = column[going].unique(return_inverse=True)
            mothers.append(torch.empty(len(distinct), dtype=torch.long).scatter_(0, position, row[going]))
            nodes.append(distinct)
            row[going] = position
            last[going] = rows + position
            rows += len(distinct)
        # A batch has far fewer tokens than prefixes: each token's share of the gates is computed once.
        tokens, token = last_token[torch.cat(nodes)].unique(return_inverse=True)
        bias = self.lstm.bias_ih + self.lstm.bias_hh
        shares = nn.functional.linear(self.embedding(tokens), self.lstm.weight_ih, bias)  # (tokens, 4 * hidden)
        inputs = shares.index_select(0, token)  # (rows, 4 * hidden)
        h = c = torch.zeros(1, self.hidden)
        states = []
        for part, mother in zip(inputs.split([len(m) for m in mothers]), mothers, strict=True):
            inner, position = mother.unique(return_inverse=True)  # prefixes that go on
            carried = nn.functional.linear(h.index_select(0, inner), self.lstm.weight_hh)
            gates = part + carried.index_select(0, position)  # (rows of this depth, 4 * hidden)
            i, f, g, o = gates.chunk(4, 1)
            c = f.sigmoid() * c.index_select(0, mother) + i.sigmoid() * g.tanh()
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
        """What enters POPOCS, (B, n, n): the logits as they are, their row softmax, or five Sinkhorn iterations."""
        match self.settings.proposal:
            case "logits":
                return logits
            case "softmax":
                return logits.softmax(-1)
            case "sinkhorn":
                return sinkhorn(logits, 5)

    def constrain(self, logits: torch.Tensor, orders: PartialOrders, iterations: int) -> torch.Tensor:
        """The operator on (B, n, n) logits; the partial orders are used by POPOCS alone."""
        if self.settings.operator == "sinkhorn":
            return sinkhorn(logits, iterations)
        return popocs(self.proposal(logits), orders, method=self.settings.method, iterations=iterations)

    def save(self, path: Path) -> None:
        """Weights with the settings, safetensors."""
        described = {"n": self.n, "n_tokens": self.n_tokens, "settings": self.settings.model_dump()}
        with tables.replacing(path) as temporary:
            save_file(self.state_dict(), temporary, {_DESCRIPTION: json.dumps(described)})

    @staticmethod
    def load(path: Path) -> POCSNet:
        """A trained network from its file. Raises ValueError where it is not one."""
        try:
            with safe_open(path, "pt") as file:
                described = (file.metadata() or {}).get(_DESCRIPTION)
                weights = {name: file.get_tensor(name) for name in list(file.keys())}
        except SafetensorError as error:
            raise ValueError(f"{path} is no file of weights ({error}); train it again") from error
        if described is None:
            raise ValueError(f"{path} is no network of POCSNet: it names no settings; train it again")
        parts = json.loads(described)
        network = POCSNet(parts["n"], parts["n_tokens"], Training.model_validate(parts["settings"]))
        network.load_state_dict(weights)
        return network.eval()


def constrained(model: POCSNet, problems: Problems, trie: TokenTrie, iterations: int) -> torch.Tensor:
    """Soft assignments (B, n, n) of a batch of problems, instructions numbered as shown."""
    logits = model.logits(problems, trie)
    return model.constrain(logits, partial_orders(problems.precedes), iterations)


@torch.no_grad()
def assign(model: POCSNet, problems: Problems, trie: TokenTrie, iterations: int) -> np.ndarray:
    """Soft assignments (B, n, n) by a trained network, in batches that fit the cache."""
    parts = range(0, len(problems), _INFERENCE_BATCH)
    found = [constrained(model, problems[s : s + _INFERENCE_BATCH], trie, iterations) for s in parts]
    matrix = torch.cat(found)
    if not matrix.isfinite().all():
        raise Diverged("the network gives numbers that are not finite; lower learning_rate and train again")
    return matrix.numpy()
