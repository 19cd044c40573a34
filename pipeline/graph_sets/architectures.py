"""The networks whose graphs are in `exported/`: their names, their families, and the functions that make them.

torchvision, timm and transformers are the optional extra `models`; only `python -m pipeline.graph_sets` needs
them.
All modules and inputs are on torch's meta device: they have shapes and types, but no memory.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from pipeline.graph_sets.modules.gnmt import GNMT
from pipeline.graph_sets.modules.rnnlm import RNNLM, RNNLMStep
from pipeline.graph_sets.modules.transformer_xl import TransformerXL, TransformerXLStep
from pipeline.graph_sets.modules.wavenet import WaveNet

ModuleAndInputs = tuple[nn.Module, tuple[Tensor, ...]]  # on the meta device
_WORDS = 32_000  # in the vocabularies of our own modules, as of GNMT (Wu et al. 2016)


@dataclass(frozen=True)
class Architecture:
    """A network. step: one step of a recurrent network, its inputs and its number of states, for long unrolls."""

    family: str
    make: Callable[[], ModuleAndInputs]
    step: Callable[[], tuple[nn.Module, tuple[Tensor, ...], int]] | None = None


def _tokens(*shape: int) -> Tensor:
    return torch.empty(shape, dtype=torch.long)


class _Logits(nn.Module):
    """A module of transformers that returns only its logits. The mask is an input, because making it reads values."""

    def __init__(self, module: nn.Module) -> None:
        super().__init__()
        self.model = module

    def forward(self, tokens: Tensor, mask: Tensor) -> Tensor:
        """tokens (B, T), mask (B, 1, T, T), which is added to the scores -> (B, T, words)."""
        logits: Tensor = self.model(tokens, attention_mask=mask).logits
        return logits


class _Similarities(nn.Module):
    """CLIP of transformers that returns only the similarities of images and texts. The mask is an input, as above."""

    def __init__(self, module: nn.Module) -> None:
        super().__init__()
        self.model = module

    def forward(self, images: Tensor, tokens: Tensor, mask: Tensor) -> Tensor:
        """images (B, 3, H, W), tokens (B, T), mask (B, 1, T, T), added to the text's scores -> (B images, B texts)."""
        logits: Tensor = self.model(tokens, images, attention_mask=mask).logits_per_image
        return logits


class Repeated(nn.Module):
    """Nearest-neighbour upsampling by an integer factor, as one operation that copies.

    torch's own module runs as one operation, but is traced as eight small operations that make indices and a gather.
    """

    def __init__(self, factor: int) -> None:
        super().__init__()
        self.factor = factor

    def forward(self, x: Tensor) -> Tensor:
        """(B, C, H, W) -> (B, C, factor x H, factor x W)."""
        batch, channels, height, width = x.shape
        copies = x[:, :, :, None, :, None].expand(batch, channels, height, self.factor, width, self.factor)
        return copies.reshape(batch, channels, height * self.factor, width * self.factor)


def _inception() -> ModuleAndInputs:
    from torchvision.models import inception_v3

    # The auxiliary classifier helps training from random weights; it is not a part of the network's published graph.
    return inception_v3(weights=None, init_weights=False, aux_logits=False), (torch.empty(32, 3, 299, 299),)


def _resnet() -> ModuleAndInputs:
    from torchvision.models import resnet50

    return resnet50(weights=None), (torch.empty(32, 3, 224, 224),)


def _vit() -> ModuleAndInputs:
    from torchvision.models import vit_b_16

    return vit_b_16(weights=None), (torch.empty(32, 3, 224, 224),)


def _image_network(name: str, size: int = 224) -> Callable[[], ModuleAndInputs]:
    """A network of timm that reads square images."""

    def make() -> ModuleAndInputs:
        import timm

        return timm.create_model(name, pretrained=False), (torch.empty(32, 3, size, size),)

    return make


def _nasnet() -> ModuleAndInputs:
    import timm

    return timm.create_model("nasnetalarge", pretrained=False), (torch.empty(8, 3, 331, 331),)


def _hrnet() -> ModuleAndInputs:
    import timm

    module = timm.create_model("hrnet_w18", pretrained=False)
    for name, part in [*module.named_modules()]:
        if isinstance(part, nn.Upsample) and isinstance(part.scale_factor, float):
            module.set_submodule(name, Repeated(int(part.scale_factor)))
    return module, (torch.empty(32, 3, 224, 224),)


def _bert() -> ModuleAndInputs:
    from transformers import BertConfig, BertForMaskedLM

    module = BertForMaskedLM(BertConfig(attn_implementation="eager", use_cache=False))
    return _Logits(module), (_tokens(16, 128), torch.empty(16, 1, 128, 128))


def _gpt2() -> ModuleAndInputs:
    from transformers import GPT2Config, GPT2LMHeadModel

    module = GPT2LMHeadModel(GPT2Config(attn_implementation="eager", use_cache=False))
    return _Logits(module), (_tokens(8, 256), torch.empty(8, 1, 256, 256))


def _t5() -> ModuleAndInputs:
    from transformers import T5Config, T5EncoderModel

    class Encoder(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.model = T5EncoderModel(T5Config(attn_implementation="eager", use_cache=False))

        def forward(self, tokens: Tensor, mask: Tensor) -> Tensor:
            states: Tensor = self.model(tokens, attention_mask=mask).last_hidden_state
            return states

    return Encoder(), (_tokens(16, 128), torch.empty(16, 1, 128, 128))


def _clip() -> ModuleAndInputs:
    from transformers import CLIPConfig, CLIPModel

    module = CLIPModel(CLIPConfig(attn_implementation="eager"))  # by default ViT-B/32
    return _Similarities(module), (torch.empty(32, 3, 224, 224), _tokens(32, 77), torch.empty(32, 1, 77, 77))


def _rnnlm_step(layers: int, batch: int = 64, hidden: int = 1024) -> tuple[RNNLMStep, tuple[Tensor, ...], int]:
    states = tuple(torch.empty(batch, hidden) for _ in range(2 * layers))
    return RNNLMStep(layers, hidden, _WORDS), (_tokens(batch), *states), len(states)


def _rnnlm(layers: int, steps: int) -> ModuleAndInputs:
    step, (tokens, *states), _ = _rnnlm_step(layers)
    return RNNLM(step), (_tokens(len(tokens), steps), *states)


def _gnmt(layers: int, steps: int, batch: int = 64, hidden: int = 1024) -> ModuleAndInputs:
    return GNMT(layers, hidden, _WORDS), (_tokens(batch, steps), _tokens(batch, steps), torch.empty(batch, hidden))


def _wavenet() -> ModuleAndInputs:
    # 36 layers as in the table of GO (Zhou et al. 2020): four stacks of dilations 1 to 256.
    return WaveNet(stacks=4, depth=9, channels=128, levels=256), (torch.empty(8, 256, 4096),)


def _transformer_xl_step(batch: int = 16, length: int = 128) -> tuple[TransformerXLStep, tuple[Tensor, ...], int]:
    layers, width = 8, 512
    step = TransformerXLStep(layers, width, heads=8, inner=2048, words=_WORDS)
    memories = tuple(torch.empty(batch, length, width) for _ in range(layers))
    return step, (_tokens(batch, length), torch.empty(2 * length, width), *memories), layers


def _transformer_xl(segments: int = 4) -> ModuleAndInputs:
    step, (tokens, positions, *memories), _ = _transformer_xl_step()
    return TransformerXL(step), (_tokens(len(tokens), segments, tokens.shape[1]), positions, *memories)


ARCHITECTURES: dict[str, Architecture] = {
    "inception_v3": Architecture("inception", _inception),
    "resnet50": Architecture("resnet", _resnet),
    "nasnet_a_large": Architecture("nasnet", _nasnet),
    "hrnet_w18": Architecture("hrnet", _hrnet),
    "bert_base": Architecture("bert", _bert),
    "gpt2": Architecture("gpt2", _gpt2),
    "vit_b_16": Architecture("vit", _vit),
    "clip_vit_b_32": Architecture("clip", _clip),
    "res2net_50": Architecture("res2net", _image_network("res2net50_26w_4s")),
    "crossvit_small": Architecture("crossvit", _image_network("crossvit_small_240", 240)),
    "resnest_50": Architecture("resnest", _image_network("resnest50d")),
    "convnext_tiny": Architecture("convnext", _image_network("convnext_tiny")),
    "swin_tiny": Architecture("swin", _image_network("swin_tiny_patch4_window7_224")),
    "mixer_b_16": Architecture("mixer", _image_network("mixer_b16_224")),
    "t5_small": Architecture("t5", _t5),
    "rnnlm_2": Architecture("rnnlm", lambda: _rnnlm(2, 20), lambda: _rnnlm_step(2)),
    "rnnlm_8": Architecture("rnnlm", lambda: _rnnlm(8, 10), lambda: _rnnlm_step(8)),
    "gnmt_4": Architecture("gnmt", lambda: _gnmt(4, 10)),
    "gnmt_8": Architecture("gnmt", lambda: _gnmt(8, 6)),
    "wavenet_36": Architecture("wavenet", _wavenet),
    "transformer_xl_8": Architecture("transformer_xl", _transformer_xl, _transformer_xl_step),
}
