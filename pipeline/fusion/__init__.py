"""Does a network that chooses which operations run as one kernel beat the rules of compilers?"""
