"""ONNX files of packages and torch modules that `learned-schedulers graph` reads, beside their runtimes."""
