"""How do time and memory grow up to 30 million blocks, and what does a cluster change?"""
