"""LLVM's intermediate code -> dependency DAGs of its blocks -> the code in other orders, which LLVM keeps.

Before registers are allocated, an order decides what is spilled.
"""
