"""The verb `conform`."""


def main() -> None:
    """Check."""
