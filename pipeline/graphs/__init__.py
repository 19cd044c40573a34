"""The wing of computation graphs on devices. It knows nothing of `blocks`; README.md says what will stand here."""
