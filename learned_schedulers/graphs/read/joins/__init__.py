"""Groups of operations that a runtime computes as one: attention, normalisations, activations, biases."""
