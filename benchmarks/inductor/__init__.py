"""TorchInductor with fusion decided from outside: proposals, measurements, numbers."""
