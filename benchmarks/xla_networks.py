"""Small networks in jax, of the kinds that graphs are drawn from, for `benchmarks.xla_on_gpu`. Each has two sizes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from benchmarks.data_collection import cartpole

Case = tuple[Callable[..., Any], tuple[Any, ...]]  # a function, shapes and types of what it is given
SIZES = ("few", "many")  # samples at once: one user's, and as many as fill a GPU


def networks(size: str) -> dict[str, Case]:
    """The networks by name; most are a whole training step. Raises ImportError where jax is not installed."""
    import jax
    import jax.numpy as jnp
    from jax import lax, nn

    many = size == "many"

    def of(*shape: int, kind: Any = jnp.float32) -> Any:
        return jax.ShapeDtypeStruct(shape, kind)

    def training(network: Callable[..., Any], *shapes: Any) -> Case:
        """Loss and gradients of the mean square of the network's result; the first input is no weight."""

        def loss(weights: Any, x: Any) -> Any:
            return jnp.square(network(x, *weights)).mean()

        return jax.value_and_grad(loss), (list(shapes[1:]), shapes[0])

    def norm(x: Any, axes: Any) -> Any:
        centred = x - x.mean(axes, keepdims=True)
        return centred * lax.rsqrt(jnp.square(centred).mean(axes, keepdims=True) + 1e-5)

    def convolved(x: Any, kernel: Any, groups: int = 1, dilation: int = 1) -> Any:
        spatial = x.ndim - 2
        steps, dilations = (1,) * spatial, (dilation,) * spatial
        return lax.conv_general_dilated(x, kernel, steps, "SAME", rhs_dilation=dilations, feature_group_count=groups)

    def lstm(x: Any, weights: Any) -> Any:
        hidden = cell = jnp.zeros((x.shape[1], weights.shape[1] // 4))
        for step in x:
            i, f, g, o = jnp.split(jnp.concatenate([step, hidden], 1) @ weights, 4, 1)
            cell = nn.sigmoid(f) * cell + nn.sigmoid(i) * jnp.tanh(g)
            hidden = nn.sigmoid(o) * jnp.tanh(cell)
        return hidden

    def transformer(x: Any, projection: Any, output: Any, first: Any, second: Any) -> Any:
        batch, length, width = x.shape
        q, k, v = (norm(x, -1) @ projection).reshape(batch, length, 3, 8, width // 8).transpose(2, 0, 3, 1, 4)
        scores = jnp.einsum("bhqd,bhkd->bhqk", q, k) / (width / 8) ** 0.5
        visible = jnp.tril(jnp.ones((length, length), bool))
        mixed = jnp.einsum("bhqk,bhkd->bhqd", nn.softmax(jnp.where(visible, scores, -1e9), -1), v)
        x = x + mixed.transpose(0, 2, 1, 3).reshape(batch, length, width) @ output
        return x + nn.gelu(norm(x, -1) @ first) @ second

    def residual(x: Any, *kernels: Any) -> Any:
        for first, second in zip(kernels[::2], kernels[1::2], strict=True):
            inner = nn.relu(norm(convolved(x, first), (0, 2, 3)))
            x = nn.relu(x + norm(convolved(inner, second), (0, 2, 3)))
        return x

    def dense(x: Any, *kernels: Any) -> Any:
        for kernel in kernels:
            x = jnp.concatenate([x, convolved(nn.relu(norm(x, (0, 2, 3))), kernel)], 1)
        return x

    def inverted(x: Any, wide: Any, depth: Any, narrow: Any, squeeze: Any, excite: Any) -> Any:
        inner = nn.silu(norm(convolved(x, wide), (0, 2, 3)))
        inner = nn.silu(norm(convolved(inner, depth, groups=depth.shape[0]), (0, 2, 3)))
        gate = nn.sigmoid(nn.silu(inner.mean((2, 3)) @ squeeze) @ excite)
        return x + norm(convolved(inner * gate[:, :, None, None], narrow), (0, 2, 3))

    def mixer(x: Any, *weights: Any) -> Any:
        tokens, back, channels, again = weights
        x = x + (nn.gelu(norm(x, -1).transpose(0, 2, 1) @ tokens) @ back).transpose(0, 2, 1)
        return x + nn.gelu(norm(x, -1) @ channels) @ again

    def wavenet(x: Any, *kernels: Any) -> Any:
        skipped = jnp.zeros_like(x)
        for number, (kernel, out) in enumerate(zip(kernels[::2], kernels[1::2], strict=True)):
            filtered, gate = jnp.split(convolved(x, kernel, dilation=2**number), 2, 1)
            inner = convolved(jnp.tanh(filtered) * nn.sigmoid(gate), out)
            x, skipped = x + inner, skipped + inner
        return nn.relu(skipped)

    def perceptron(x: Any, *weights: Any) -> Any:
        for weight in weights:
            x = nn.gelu(x @ weight)
        return nn.log_softmax(x)

    def adam(weights: Any, gradients: Any, means: Any, squares: Any, step: Any) -> Any:
        def updated(weight: Any, gradient: Any, mean: Any, square: Any) -> Any:
            mean, square = 0.9 * mean + 0.1 * gradient, 0.999 * square + 0.001 * gradient**2
            corrected = mean / (1 - 0.9**step), square / (1 - 0.999**step)
            return weight - 1e-3 * corrected[0] / (jnp.sqrt(corrected[1]) + 1e-8), mean, square

        return jax.tree.map(updated, weights, gradients, means, squares)

    def rollout(state: cartpole.State, environment: Any, pushed: Any) -> Any:
        rewards = []
        for _ in range(8):
            state, *outcome = cartpole.step(jnp, state, environment, pushed, jnp.float32)
            rewards.append(outcome)
        return state, rewards

    def norms(x: Any) -> Any:
        return nn.softmax(norm(x, -1) * nn.sigmoid(x), -1), nn.gelu(x).sum(0), norm(x, 0)

    batch, rows = (32, 4096) if many else (1, 64)
    pole = 1_000_000 if many else 1000
    state = cartpole.State(*[of(pole)] * 4, *[of(pole, kind=jnp.int32)] * 2)
    tensors = [of(1024, 1024) if many else of(128, 128), of(512), of(512, 512), of(64)] * 4
    kernels = [of(144, 24, 1, 1), of(144, 1, 3, 3), of(24, 144, 1, 1)]
    return {
        "lstm": training(lstm, of(6, 8 * batch, 512), of(1024, 2048)),
        "transformer": training(
            transformer, of(batch, 128, 512), of(512, 1536), of(512, 512), of(512, 2048), of(2048, 512)
        ),
        "residual": training(residual, of(batch, 64, 56, 56), *[of(64, 64, 3, 3)] * 4),
        "dense": training(dense, of(batch, 64, 28, 28), *[of(32, 64 + 32 * k, 3, 3) for k in range(4)]),
        "inverted": training(inverted, of(batch, 24, 56, 56), *kernels, of(144, 6), of(6, 144)),
        "mixer": training(mixer, of(batch, 196, 512), of(196, 256), of(256, 196), of(512, 2048), of(2048, 512)),
        "wavenet": training(wavenet, of(batch, 64, 4000), *[of(128, 64, 2), of(64, 64, 1)] * 4),
        "perceptron": training(perceptron, of(rows, 512), *[of(512, 512)] * 4),
        "adam": (adam, (tensors, tensors, tensors, tensors, of())),
        "cartpole": (rollout, (state, of(pole, kind=jnp.int32), of(pole, kind=jnp.int32))),
        "norms": (norms, (of(rows, 1024),)),
    }
