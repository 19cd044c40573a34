"""How often does a network give GCC's order of blocks of any length?"""
