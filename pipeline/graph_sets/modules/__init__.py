"""Recurrent and dilated networks that no package has as one module: plain torch, one file each; only shapes matter."""
