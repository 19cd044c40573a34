"""Inputs of benchmarks/tuning_programs.yaml, the same bytes wherever they are made: a text, a sound, a picture."""

from __future__ import annotations

import math
import random
import struct
import wave
from pathlib import Path

_RATE, _SECONDS = 44_100, 30
_WIDTH, _HEIGHT = 1600, 1200


def write(folder: Path) -> None:
    """Write `text` (10 MB of words), `sound.wav` and `sound.pcm` (30 s, stereo), `picture.ppm` (5.8 MB)."""
    if (folder / "picture.ppm").exists():
        return
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "text").write_text(_text(random.Random(1)))
    sound = _sound(random.Random(1))
    (folder / "sound.pcm").write_bytes(sound)
    with wave.open(str(folder / "sound.wav"), "wb") as file:
        file.setnchannels(2)
        file.setsampwidth(2)
        file.setframerate(_RATE)
        file.writeframes(sound)
    (folder / "picture.ppm").write_bytes(_picture(random.Random(1)))


def _text(rng: random.Random) -> str:
    """Words of which few are frequent."""
    words = ["".join(rng.choice("etaoinshrdlu") for _ in range(rng.randint(2, 9))) for _ in range(4000)]
    return " ".join(words[min(int(rng.expovariate(1 / 400)), 3999)] for _ in range(1_500_000))


def _sound(rng: random.Random) -> bytes:
    """Chords of six tones, a new one four times a second, with noise."""
    phases, samples = [0.0] * 6, []
    tones: list[tuple[float, float]] = []
    for sample in range(_RATE * _SECONDS):
        if sample % (_RATE // 4) == 0:
            tones = [(rng.uniform(80, 4000), rng.uniform(200, 3000)) for _ in phases]
        value = rng.gauss(0, 150)
        for number, (hertz, size) in enumerate(tones):
            phases[number] += 2 * math.pi * hertz / _RATE
            value += size * math.sin(phases[number])
        both = (value, 0.7 * value + rng.gauss(0, 60))
        samples.append(struct.pack("<hh", *(max(-32768, min(32767, int(each))) for each in both)))
    return b"".join(samples)


def _picture(rng: random.Random) -> bytes:
    """Waves of light with noise."""
    waves = [
        (rng.uniform(0.002, 0.08), rng.uniform(0.002, 0.08), rng.uniform(5, 50), rng.uniform(0, 6)) for _ in range(8)
    ]
    pixels = bytearray(f"P6\n{_WIDTH} {_HEIGHT}\n255\n".encode())
    for y in range(_HEIGHT):
        for x in range(_WIDTH):
            light = 128 + sum(size * math.sin(a * x + b * y + phase) for a, b, size, phase in waves) + rng.gauss(0, 6)
            colours = (0.0, 12 * math.sin(x / 90), -9 * math.cos(y / 70))
            pixels += bytes(max(0, min(255, int(light + each))) for each in colours)
    return bytes(pixels)
